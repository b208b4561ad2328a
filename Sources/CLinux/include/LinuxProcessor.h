/* Hints and barriers for the compiler and the processor, and the thread's slot: no system calls. Part of CLinux.h. */
#ifndef CLINUX_PROCESSOR_H
#define CLINUX_PROCESSOR_H
#include <stdint.h>

/* The thread's slot. Thread-local variables are not imported. With initial-exec, an access is one instruction; 8 bytes
   are well within what glibc reserves for libraries that are loaded late. */
extern __thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline __attribute__((always_inline)) void *linux_thread_slot(void) { return linux_thread_slot_variable; }
/* Compared in C: in Swift, the slot is an optional, which the compiler would test for nil first. */
static inline __attribute__((always_inline)) int linux_thread_has(const void *value)
{
    return linux_thread_slot_variable == value;
}
static inline void linux_set_thread_slot(void *value) { linux_thread_slot_variable = value; }

/* Inline assembly: keeps the compiler, but not the processor, from moving memory accesses across this point. */
static inline void linux_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* Inline assembly, with a number so that the linker does not merge functions that differ only in their names. */
static inline void linux_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* A cast, because Swift's conversion has a range check. `value` must be well below 2^63. */
static inline int64_t linux_integer(double value) { return (int64_t)value; }

/* Inline assembly: hints to the processor that this is a spin loop. */
static inline void linux_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* A builtin: hints to the processor that this cache line will be written soon. The address need not be valid. */
static inline void linux_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/* Reads a value that another thread may be writing at this moment, where either the old or the new value is acceptable.
   ThreadSanitizer would report a race, even with an atomic read on this side; hence volatile and no instrumentation. */
__attribute__((no_sanitize("thread"))) static inline uint32_t linux_peek(const uint32_t *word)
{
    return *(const volatile uint32_t *)word;
}

#endif
