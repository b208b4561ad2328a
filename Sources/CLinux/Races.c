/* Annotations for race detectors. Compiled into librunloop-kit, too. */
#include "LinuxRaces.h"

/* Functions of ThreadSanitizer's runtime, which exist if the program was built with -fsanitize=thread: the dynamic
   linker stores their addresses, or NULL. A library that is itself instrumented needs no annotations. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __tsan_release NULL
#define __tsan_acquire NULL
#endif
#endif
#ifndef __tsan_release
extern void __tsan_release(void *address) __attribute__((weak));
extern void __tsan_acquire(void *address) __attribute__((weak));
#endif
void (*linux_happens_before_hook)(void *address) = __tsan_release;
void (*linux_happens_after_hook)(void *address) = __tsan_acquire;

#ifdef LINUX_NOTES_LOCKS
extern void __tsan_mutex_pre_lock(void *address, unsigned flags);
extern void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
extern int __tsan_mutex_pre_unlock(void *address, unsigned flags);
extern void __tsan_mutex_post_unlock(void *address, unsigned flags);
extern void AnnotateIgnoreSyncBegin(const char *file, int line);
extern void AnnotateIgnoreSyncEnd(const char *file, int line);

/* The locks that this thread holds and has reported. ThreadSanitizer aborts at the 64th, and fork() takes the locks of all loops. */
static __thread const void *linux_noted[32];
static __thread unsigned linux_noted_count;

/* Called by the holder. That the lock is reported only once it is held does not change the order. ThreadSanitizer ignores what such a
   lock would synchronize, so it goes on checking that the atomics of which the lock is made do so. */
void linux_note_lock(const void *address)
{
    if (linux_noted_count == sizeof linux_noted / sizeof *linux_noted)
        return;
    linux_noted[linux_noted_count++] = address;
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    __tsan_mutex_pre_lock((void *)address, 1);
    __tsan_mutex_post_lock((void *)address, 1, 0);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

void linux_note_unlock(const void *address)
{
    for (unsigned index = linux_noted_count; index-- > 0;) {
        if (linux_noted[index] != address)
            continue;
        linux_noted[index] = linux_noted[--linux_noted_count];
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
        __tsan_mutex_pre_unlock((void *)address, 1);
        __tsan_mutex_post_unlock((void *)address, 1);
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
        return;
    }
}
#endif

/* Makes a request to Valgrind, by a sequence of instructions that has no effect elsewhere; valgrind.h describes it.
   Returns `otherwise` without Valgrind, or if its tool does not know the request. */
static unsigned long linux_ask_valgrind(unsigned long request, const void *address, unsigned long otherwise)
{
    volatile unsigned long arguments[6] = {request, (unsigned long)address};
    unsigned long result = otherwise;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(arguments)
                     : "cc", "memory");
#elif defined(__aarch64__)
    __asm__ volatile(
        "mov x3, %0; mov x4, %1; ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61; "
        "orr x10, x10, x10; mov %0, x3"
        : "+r"(result)
        : "r"(arguments)
        : "cc", "memory", "x3", "x4");
#else
    (void)arguments;
#endif
    return result;
}

/* The numbers of helgrind.h and drd.h. Both tools understand the first two. */
enum {
    happens_before_request = 0x48470121,
    happens_after_request = 0x48470122,
    helgrind_rights_request = 0x4847012e, /* of the arguments, which stay 0: none */
    drd_thread_request = 0x44520000
};
static void valgrind_happens_before(void *address) { linux_ask_valgrind(happens_before_request, address, 0); }
static void valgrind_happens_after(void *address) { linux_ask_valgrind(happens_after_request, address, 0); }

void linux_detect_valgrind(void)
{
    static const char here;
    unsigned long none = (unsigned long)-2;
    if (linux_ask_valgrind(helgrind_rights_request, &here, none) == none &&
        linux_ask_valgrind(drd_thread_request, NULL, 0) == 0)
        return;
    linux_happens_before_hook = valgrind_happens_before;
    linux_happens_after_hook = valgrind_happens_after;
}
