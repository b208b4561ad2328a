/* The memory by which the command `runloop explain` asks a process: a System V segment, which lasts as long as a process has it. It needs no
   descriptor, of which a program may close those that it does not know, and no file that is left behind. In /proc/PID/maps it is called
   /SYSV00000000, and its number stands where that of a file would. */
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
    uint64_t size;     /* with the magic: which version of this struct it is */
    uint32_t bell;     /* the companion's thread sleeps on it; whatever asks for something adds 1 */
    uint32_t asked;    /* how many requests there were; the command adds */
    uint32_t answered; /* how many of them have their answer; the process adds */
    uint32_t changes;  /* odd while the text is being changed */
    uint32_t length;   /* of the text, which is that of the last answer */
    int32_t process;   /* getpid() where it answers: a child of _Fork() or clone() has the memory, too */
    char text[(1 << 20) - 64];
};

/* Adds 1 to a word and wakes what sleeps on it, here or in another process. Async-signal-safe. */
static inline void ringBell(uint32_t *bell)
{
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Sleeps while a word has a value, for so many nanoseconds at most; UINT64_MAX: for ever. Returns early at times. */
static inline void awaitBell(uint32_t *bell, uint32_t value, uint64_t limit)
{
    struct timespec most = {(time_t)(limit / 1000000000), (long)(limit % 1000000000)};
    syscall(SYS_futex, bell, FUTEX_WAIT, value, limit == UINT64_MAX ? NULL : &most, NULL, 0);
}

#endif
