/* librunloop-cf.so: CF's names as symbols, for callers that bind names without reading headers (Rust, Python, Zig).
   Programs that are compiled with the headers in include/CoreFoundation do not need it: there, a CF name is an
   assembler label for the RL name.

   Each function is a single jump into librunloop.so, so both names refer to one function with one state. Must not be
   in one process with Apple's CoreFoundation (libFoundation of the Swift toolchain): it has the same names, and one
   of the two libraries would receive the other's calls. names.awk generates the list of names from the headers. */
#include <CoreFoundation/CoreFoundation.h>

#ifdef __CONSTANT_CFSTRINGS__
#error "compile with -fno-constant-cfstrings: the class reference is exported here, and a label of the header's there"
#endif

#if defined(__x86_64__)
#define JUMP(target) "jmp *" target "@GOTPCREL(%rip)"
#elif defined(__aarch64__)
#define JUMP(target) "b " target
#endif

#define CF_FUNCTION(name, target)                                                                             \
    __asm__(".pushsection .text." #name ",\"ax\",@progbits\n\t.p2align 3\n\t.globl " #name "\n\t.type " #name \
            ", @function\n" #name ":\n\t" JUMP(#target) "\n\t.size " #name ", . - " #name "\n\t.popsection");

/* Constants are copied when the library is loaded, before any code of the program runs. By then, a program may have
   them in its own memory (a copy relocation), and the assignment takes effect there. */
#define CF_DATA(name, target)                                                                                \
    extern unsigned char copy_of_##name[sizeof(name)] __asm__(#name) __attribute__((visibility("default"))); \
    unsigned char copy_of_##name[sizeof(name)] __attribute__((aligned(16)));
#include "cf-names.inc"
#undef CF_FUNCTION
#undef CF_DATA

__attribute__((constructor)) static void copy_constants(void)
{
#define CF_FUNCTION(name, target)
#define CF_DATA(name, target) memcpy(copy_of_##name, &name, sizeof(name));
#include "cf-names.inc"
}

/* The symbol whose address clang stores as the first word of a constant CFString. An absolute symbol: its value is
   not an address, but the first eight bytes of an immortal string (Sources/RunLoopCore/Value/String.swift). */
__asm__(".globl __CFConstantStringClassReference\n\t.type __CFConstantStringClassReference, @object\n\t"
        ".size __CFConstantStringClassReference, 8\n\t.set __CFConstantStringClassReference, 0x80000000524C0001");
