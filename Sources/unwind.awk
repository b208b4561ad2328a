# unwind.awk -- gives the core unwind tables: awk -f Sources/unwind.awk core.s, the compiler's text
#
# Embedded Swift describes its frames for debuggers alone. Another section makes of that the tables that all unwinders read, and
# linux_stop_exception (Sources/CLinux/Unwind.c) is named as the routine that stops C++ exceptions.
#
# The tables are exact but for epilogues, as with gcc's -fno-asynchronous-unwind-tables: every call, and every instruction that may
# fault, can be unwound from. A signal that interrupts an epilogue finds a frame of the wrong size; being exact there, too, takes
# 16 KB. The offsets that an epilogue states are left out where the function ends behind it, or where the code that follows states
# its own; which goes, too, if it is the one before the epilogue. Which of these it is shows only then, so the lines are held back.
#
# A small constant is pushed and popped into its register, each with a row of its own. Nothing can be called between the two, nor
# fault, so both rows are left out: a signal that comes exactly there finds a frame of the wrong size, too. That saves 5 KB.

function hold() { line[++held] = $0 }

function print_line(text,    word) {
    split(text, word)
    if (word[1] == ".cfi_def_cfa_offset")
        offset = word[2] + 0
    else if (word[1] == ".cfi_adjust_cfa_offset")
        offset += word[2]
    else if (word[1] ~ /^\.cfi_def_cfa/)
        offset = -1 # not counted from the stack pointer
    print text
}

function print_held(with_offsets,    i) {
    for (i = 1; i <= held; i++)
        if (with_offsets || line[i] !~ /^\t\.cfi_def_cfa_offset /)
            print_line(line[i])
    held = has_left = 0
}

/^\t\.cfi_sections / { print "\t.cfi_sections .eh_frame"; next }
/^\t\.cfi_startproc/ { offset = 8; print; print "\t.cfi_personality 0x1b, linux_stop_exception"; next }

# A constant is pushed: its row is held back until the next instruction tells whether it is popped again, or is an argument.
/^\tpushq\t\$/ { print_held(1); print; row = ""; is_pushed = 1; next }
is_pushed && /^\t\.cfi_adjust_cfa_offset 8$/ { row = $0; next }
is_pushed && /^\tpopq/ { print; is_pushed = 0; is_popped = row != ""; next }
is_pushed && /^(\t([a-z]|\.cfi_)|\.LBB)/ { if (row != "") print_line(row); is_pushed = 0 }
is_popped && /^\t\.cfi_adjust_cfa_offset -8$/ { is_popped = 0; next }
is_popped && /^\t([a-z]|\.cfi_)/ { print FILENAME ":" FNR ": no row for what is popped" > "/dev/stderr"; exit 1 }

# Part of the frame is given back: an epilogue may begin. It ends with a return, or with a jump to another function.
!has_left && /^\t(popq|addq\t\$[0-9]+, %rsp)/ { hold(); next }
held && !has_left && /^\t\.cfi_def_cfa_offset / { hold(); next }
held && !has_left && /^\t(retq|jmpq?\t[^.])/ { hold(); has_left = 1; next }
has_left && /^\t\.cfi_(def_cfa_offset |endproc)/ {
    print_held(0)
    if ($1 == ".cfi_endproc" || $2 + 0 != offset)
        print_line($0)
    next
}

# Labels, lines of the source, comments.
held && !/^\t([a-z]|\.cfi_)/ { hold(); next }

# It is no epilogue, or what follows relies on it.
held { print_held(1) }
/^\t(popq|addq\t\$[0-9]+, %rsp)/ { hold(); next }
{ print_line($0) }
