/* Threads: futexes, membarrier, processor affinity, and timer slack. Part of CLinux.h. */
#ifndef CLINUX_THREADS_H
#define CLINUX_THREADS_H
#include "LinuxProcess.h"
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <time.h>

/* Sleeps while the word has the expected value. `deadline` is a time of CLOCK_MONOTONIC, or NULL for none. */
static inline int linux_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL,
                        FUTEX_BITSET_MATCH_ANY);
}
static inline void linux_futex_wake(const void *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

static inline int linux_membarrier_register(void)
{
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}
static inline int linux_membarrier(void)
{
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static inline int linux_membarrier_global(void) { return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }

/* Returns the stack frame of the calling function, in a debug build as well. */
__attribute__((always_inline)) static inline uintptr_t linux_frame(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}
/* Returns the return address in the frame of a function that has a frame pointer, on x86-64 and arm64. */
static inline uintptr_t linux_return_address(uintptr_t frame) { return ((const volatile uintptr_t *)frame)[1]; }
/* Whether an address is on the calling thread's stack. For the main thread, glibc reads /proc/self/maps for this. */
static inline int linux_stack_has(uintptr_t address)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    int failed = pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return !failed && address - (uintptr_t)lowest < size;
}

static inline int linux_is_main_thread(void) { return (int)syscall(SYS_gettid) == linux_process(); }
static inline void linux_yield(void) { syscall(SYS_sched_yield); }

/* Returns the only processor on which a thread may run (0: the calling thread); -1 if there are several, or more than
   fit into the set. */
static inline int linux_only_processor(int thread)
{
    uint64_t set[16], *last = NULL;
    long size = syscall(SYS_sched_getaffinity, thread, sizeof set, set);
    for (uint64_t *word = set; word < set + size / 8; word++) {
        if (*word != 0 && (last != NULL || (*word & (*word - 1)) != 0))
            return -1;
        last = *word != 0 ? word : last;
    }
    return last == NULL ? -1 : (int)(last - set) * 64 + __builtin_ctzll(*last);
}

/* The processors on which a thread may run, one bit for each, up to 8192. */
struct linux_processors {
    uint64_t bits[128];
};
static inline long linux_get_affinity(struct linux_processors *set)
{
    return syscall(SYS_sched_getaffinity, 0, sizeof *set, set);
}
static inline int linux_set_affinity(const struct linux_processors *set, long size)
{
    return (int)syscall(SYS_sched_setaffinity, 0, size, set);
}
/* Adds a processor to the set. */
static inline void linux_note_processor(struct linux_processors *set, int processor)
{
    set->bits[processor / 64] |= (uint64_t)1 << (processor % 64);
}
/* Whether the set contains all processors on which threads of this process may run. If /proc cannot be read, only the
   calling thread is checked. Defined in CLinux.c. */
int linux_threads_are_within(const struct linux_processors *set);
/* Moves the calling thread to a processor. */
static inline int linux_run_on(int processor)
{
    struct linux_processors set = {{0}};
    linux_note_processor(&set, processor);
    return linux_set_affinity(&set, (processor / 64 + 1) * 8);
}

/* Whether the process has no other thread, as far as glibc knows. */
static inline int linux_is_single_threaded(void) { return __libc_single_threaded; }

/* prctl(2) is variadic. Called as glibc's function, because Tests/c/test-wakeup-adjust.c replaces that function. */
static inline int linux_set_timer_slack(unsigned long nanoseconds)
{
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0UL, 0UL, 0UL);
}
static inline int linux_get_timer_slack(void) { return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); }

#endif
