/* The switch of the client's probe, and static probes for tracers: a label in the code and a note about it. Part of
   CLinux.h. */
#ifndef CLINUX_PROBES_H
#define CLINUX_PROBES_H
#include <stddef.h>
#include <stdint.h>

/* For Swift. gcc, with which these files are compiled for arm64 (Tests/arm64), does not know these two. */
#ifndef __clang__
#define _Nullable
#define _Nonnull
#endif

/* Whether the client has set a probe, and the probe that it set last, which stays here after the client has removed it.
   In C, because the compiler folds a plain load into the comparison, but not an atomic load of Swift: one instruction
   less where callbacks are called. */
extern uint8_t linux_probe_is_set __attribute__((visibility("hidden")));
extern const void *_Nullable linux_probe_variable __attribute__((visibility("hidden")));
__attribute__((no_sanitize("thread"))) static inline __attribute__((always_inline)) uint8_t linux_has_probe(void)
{
    return *(const volatile uint8_t *)&linux_probe_is_set;
}

/* Returns the probe. To be called after linux_has_probe returned true: the result is never NULL from then on. */
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

/* Returns a value for an argument that is never read: whatever its register holds, so it takes no instruction. */
static inline __attribute__((always_inline)) uintptr_t linux_unspecified(void)
{
    uintptr_t value;
    __asm__ volatile("" : "=r"(value));
    return value;
}

/* A label, and a note in the format of systemtap's <sys/sdt.h>: the address of the probe, its provider and name, and
   the locations of its arguments. A tracer makes the kernel put a breakpoint on the instruction after the label. Other
   libraries put a nop there, which is faster to step over; here the probes cost nothing. The section .stapsdt.base, one
   byte, shows whether the file was moved after linking; gdb does not read the notes of a file without it. "R" keeps the
   section, although nothing that the linker examines refers to it. */
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

/* Marks the place where a client's callback is about to be called. */
static inline __attribute__((always_inline)) void linux_probe_call(uint32_t kind, uintptr_t function,
                                                                   const void *_Nullable first)
{
    LINUX_STATIC_PROBE("call", "4@%0 8@%1 8@%2", "nr"(kind), "r"(function), "r"(first));
}

/* Marks the place where a client's callback has returned. Also a barrier: it keeps the compiler from turning the call
   into a jump, which leaves no frame in backtraces. */
static inline __attribute__((always_inline)) void linux_probe_called(uint32_t kind)
{
    LINUX_STATIC_PROBE("called", "4@%0", "nr"(kind));
}

#endif
