/* The shared memory through which the command `runloop explain` queries a process: a System V segment, which exists as
   long as a process has it attached. It needs no descriptor, which the program might close as unknown, and leaves no
   file behind. /proc/PID/maps calls it /SYSV00000000 and shows its identifier as the inode. */
#ifndef RUNLOOP_TRACE_INSPECTION_H
#define RUNLOOP_TRACE_INSPECTION_H
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INSPECTION_MAGIC 0x32505349524C52u /* "RLRISP2" */

struct Inspection {
    uint64_t magic;
    uint64_t size;     /* with the magic number, the version of this struct */
    uint32_t bell;     /* the companion's thread sleeps on it; every request adds 1 */
    uint32_t asked;    /* how many requests there were; the command adds */
    uint32_t answered; /* how many requests have been answered; the process adds */
    uint32_t changes;  /* odd while the text is being changed */
    uint32_t length;   /* the length of the text, which is the last answer */
    int32_t process;   /* getpid() of the process that answers: a child of _Fork() or clone() also has the memory */
    char text[(1 << 20) - 64];
};

/* Adds 1 to a word and wakes the threads that sleep on it, in any process. Async-signal-safe. */
static inline void ringBell(uint32_t *bell)
{
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Sleeps while a word has a value, for at most so many nanoseconds; UINT64_MAX: without limit. May return early. */
static inline void awaitBell(uint32_t *bell, uint32_t value, uint64_t limit)
{
    struct timespec most = {(time_t)(limit / 1000000000), (long)(limit % 1000000000)};
    syscall(SYS_futex, bell, FUTEX_WAIT, value, limit == UINT64_MAX ? NULL : &most, NULL, 0);
}

#endif
