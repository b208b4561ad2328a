/* The switch of the client's probe, and static probes for tracers: a label in the code and a note beside it. Part of CLinux.h. */
#ifndef CLINUX_PROBES_H
#define CLINUX_PROBES_H
#include <stddef.h>
#include <stdint.h>

/* Whether there is a client's probe, and the one that was set last, which stays there when there is none any more. In C, because the
   compiler folds a plain load into the comparison, and an atomic one of Swift not: one instruction less where callbacks are called. */
extern uint8_t linux_probe_is_set __attribute__((visibility("hidden")));
extern const void *_Nullable linux_probe_variable __attribute__((visibility("hidden")));
__attribute__((no_sanitize("thread"))) static inline __attribute__((always_inline)) uint8_t linux_has_probe(void)
{
    return *(const volatile uint8_t *)&linux_probe_is_set;
}

/* The probe, where linux_has_probe was true: then it is never NULL again. */
static inline __attribute__((always_inline)) const void *_Nonnull linux_probe(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&linux_probe_variable, __ATOMIC_ACQUIRE);
}
static inline void linux_set_probe(const void *_Nullable probe)
{
    if (probe != NULL)
        __atomic_store_n(&linux_probe_variable, probe, __ATOMIC_RELEASE);
    __atomic_store_n(&linux_probe_is_set, probe != NULL, __ATOMIC_RELEASE);
}

/* Stands for an argument that is never read: whatever its register holds, so it takes no instruction. */
static inline __attribute__((always_inline)) uintptr_t linux_unspecified(void)
{
    uintptr_t value;
    __asm__ volatile("" : "=r"(value));
    return value;
}

/* A label, and a note as systemtap's <sys/sdt.h> writes it: where the probe is, its provider and name, and where its arguments are. A
   kernel that is told to puts a breakpoint on the instruction behind the label. Others put a nop there, which is quicker to step over;
   here the probes cost nothing. The section .stapsdt.base, one byte, tells whether the file was moved after linking; gdb does not read
   the notes of a file without it. "R" keeps it, though nothing that the linker looks at refers to it. */
#define LINUX_STATIC_PROBE_BASE                                                       \
    "\t.ifndef _.stapsdt.base\n"                                                      \
    "\t.pushsection .stapsdt.base,\"aGR\",\"progbits\",.stapsdt.base,comdat\n"        \
    "\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n_.stapsdt.base:\n\t.space 1\n" \
    "\t.size _.stapsdt.base, 1\n\t.popsection\n\t.endif\n"
#define LINUX_STATIC_PROBE(name, arguments, ...)                                            \
    __asm__ volatile(LINUX_STATIC_PROBE_BASE "990:\n"                                       \
                                             "\t.pushsection .note.stapsdt,\"\",\"note\"\n" \
                                             "\t.balign 4\n"                                \
                                             "\t.4byte 992f-991f, 994f-993f, 3\n"           \
                                             "991:\t.asciz \"stapsdt\"\n"                   \
                                             "992:\t.balign 4\n"                            \
                                             "993:\t.8byte 990b, _.stapsdt.base, 0\n"       \
                                             "\t.asciz \"runloop\"\n"                       \
                                             "\t.asciz \"" name "\"\n"                      \
                                             "\t.asciz \"" arguments "\"\n"                 \
                                             "994:\t.balign 4\n"                            \
                                             "\t.popsection\n"                              \
                     :                                                                      \
                     : __VA_ARGS__                                                          \
                     : "memory")

/* A client's function is about to be called. */
static inline __attribute__((always_inline)) void linux_probe_call(uint32_t kind, uintptr_t function,
                                                                   const void *_Nullable first)
{
    LINUX_STATIC_PROBE("call", "4@%0 8@%1 8@%2", "nr"(kind), "r"(function), "r"(first));
}

/* It has returned. Also a barrier, which keeps the compiler from making the call a jump that leaves no frame in backtraces. */
static inline __attribute__((always_inline)) void linux_probe_called(uint32_t kind)
{
    LINUX_STATIC_PROBE("called", "4@%0", "nr"(kind));
}

#endif
