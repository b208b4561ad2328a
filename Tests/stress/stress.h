/* Helpers shared by the stress programs. Each one runs for the number of seconds in its first argument, and exits
 * with 1 if something went wrong. No upper bound on time is tighter than PATIENCE. */
#ifndef RUNLOOP_TESTS_STRESS_H
#define RUNLOOP_TESTS_STRESS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <RunLoop/RunLoop.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../own-directory.h"

#define UNUSED __attribute__((unused))
enum { PATIENCE = 40 }; /* seconds after which something counts as lost, even on a busy machine */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Fails immediately, whatever other threads do. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s (%d): ", program_invocation_short_name, getpid());
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

#define require(condition)                                                  \
    do {                                                                    \
        if (!(condition))                                                   \
            fail("line %d: %s: %s", __LINE__, #condition, strerror(errno)); \
    } while (0)

/* Returns a random number from the thread's own generator. */
static inline unsigned roll(uint64_t *state, unsigned count)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)((*state >> 33) % count);
}

static inline int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    require(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static inline pthread_t start_thread(void *(*body)(void *), void *info)
{
    pthread_t thread;
    require(pthread_create(&thread, NULL, body, info) == 0);
    return thread;
}

#endif
