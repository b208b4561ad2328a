/* What is told to the compiler or the processor, and the thread's slot: no system calls. Part of CLinux.h. */
#ifndef CLINUX_PROCESSOR_H
#define CLINUX_PROCESSOR_H
#include <stdint.h>

/* Thread-local variables are not imported. initial-exec makes an access one instruction; the slot is
   8 bytes, well inside what glibc keeps free for libraries that are loaded late. */
extern __thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline __attribute__((always_inline)) void *linux_thread_slot(void) { return linux_thread_slot_variable; }
/* Compared here: in Swift the slot is an optional, and compilers test it for nil first. */
static inline __attribute__((always_inline)) int linux_thread_has(const void *value)
{
    return linux_thread_slot_variable == value;
}
static inline void linux_set_thread_slot(void *value) { linux_thread_slot_variable = value; }

/* Inline assembly: keeps the compiler, not the processor, from moving memory accesses across. */
static inline void linux_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* Inline assembly, with a number so that the linker does not fold functions that differ only in their names. */
static inline void linux_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* A cast: Swift's conversion tests for what cannot be converted. `value` is well below 2^63. */
static inline int64_t linux_integer(double value) { return (int64_t)value; }

/* Inline assembly: tells the processor that this is a spin loop. */
static inline void linux_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* A builtin: tells the processor that this line will be needed soon. Any address will do. */
static inline void linux_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/* Fetches a line that will be written to, so that no other processor keeps a copy. Inline assembly on x86, where the builtin
   fetches it for reading, unless told that the processor is not one of the first, for which the instruction does nothing. */
static inline void linux_prefetch_alone(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* Fetches the line that a pointer points to, wherever that is: another thread may be writing the pointer at this moment. */
__attribute__((no_sanitize("thread"))) static inline void linux_prefetch_what(const void *pointer)
{
    __builtin_prefetch(*(void *const volatile *)pointer);
}

/* A value that another thread may be writing at this moment, of which it does not matter whether it is the old or the new one. For
   ThreadSanitizer that is a race, even if it were atomic on this side only; hence volatile. */
__attribute__((no_sanitize("thread"))) static inline uint32_t linux_peek(const uint32_t *word)
{
    return *(const volatile uint32_t *)word;
}

#endif
