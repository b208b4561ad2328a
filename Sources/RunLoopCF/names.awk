# Generates the list of CF's names, and of the RL names for which they are labels, from the preprocessed headers of
# include/CoreFoundation:
#   CF_FUNCTION(CFRunLoopRun, RLRunLoopRun)
#   CF_DATA(kCFRunLoopDefaultMode, kRLRunLoopDefaultMode)
# Lists only names that the library exports (the file given as -v exported=…, from nm), so a header may declare functions
# that the library does not have.
BEGIN {
    while ((getline line < exported) > 0)
        has[line] = 1
    RS = ";"
}
{
    gsub(/[ \t\n]+/, " ")
    if (!match($0, /__asm__\( ?"k?RL[A-Za-z0-9]+" ?\)/))
        next
    label = substr($0, RSTART, RLENGTH)
    gsub(/__asm__|[^A-Za-z0-9]/, "", label)
    if (!(label in has))
        next
    declaration = substr($0, 1, RSTART - 1)
    kind = declaration ~ /\(/ ? "FUNCTION" : "DATA"
    sub(/ ?\(.*/, "", declaration)
    sub(/ +$/, "", declaration)
    match(declaration, /[A-Za-z0-9_]+$/)
    printf "CF_%s(%s, %s)\n", kind, substr(declaration, RSTART), label
}
