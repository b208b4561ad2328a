/* Helpers shared by the scenario programs: checks, items created in one line, threads. */
#ifndef RUNLOOP_TESTS_FAULTS_H
#define RUNLOOP_TESTS_FAULTS_H
#define _GNU_SOURCE
#include "../waiting.h"
#include <RunLoop/RunLoop.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))

static inline _Noreturn void fail(const char *file, int line, const char *what)
{
    dprintf(2, "%s:%d: not true: %s (errno %d, %s)\n", file, line, what, errno, strerror(errno));
    _exit(1);
}

/* The error handler: these programs make no mistakes. */
static inline void no_mistake(const char *message, void *info)
{
    (void)info;
    dprintf(2, "%s\n", message);
    _exit(1);
}

static inline void count_up(void *info) { atomic_fetch_add((atomic_int *)info, 1); }
static inline void count_timer(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    count_up(info);
}

static inline void until(atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted)
        usleep(50);
}

/* A version-1 source on a pipe; perform reads a byte, if there is one, and counts the calls. */
struct watched {
    int reader, writer;
    atomic_int performed;
};

static inline int watched_port(void *info) { return ((struct watched *)info)->reader; }
static inline void watched_perform(void *info)
{
    struct watched *watched = info;
    char byte;
    if (read(watched->reader, &byte, 1) == 1)
        count_up(&watched->performed);
}

static inline void open_pipe(struct watched *watched)
{
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    *watched = (struct watched){.reader = ends[0], .writer = ends[1]};
}

static inline void write_byte(const struct watched *watched) { CHECK(write(watched->writer, "x", 1) == 1); }

static inline RLRunLoopSourceRef watch(struct watched *watched, RLRunLoopRef loop)
{
    RLRunLoopSourceContext1 context = {
        .version = 1, .info = watched, .getPort = watched_port, .perform = watched_perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    CHECK(source != NULL);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    return source;
}

static inline RLRunLoopSourceRef new_source(atomic_int *count, RLRunLoopRef loop)
{
    RLRunLoopSourceContext context = {.info = count, .perform = count_up};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    CHECK(source != NULL);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    CHECK(RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
    return source;
}

static inline void end_source(RLRunLoopSourceRef source)
{
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
}

static inline int open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    int count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* A thread that runs its loop. */
struct looper {
    pthread_t thread;
    RLRunLoopRef loop;
    atomic_int ready;
    atomic_int finished;
    atomic_int kept;
};

static inline void *run_looper(void *info)
{
    struct looper *looper = info;
    looper->loop = RLRunLoopGetCurrent();
    CHECK(looper->loop != NULL);
    RLRunLoopSourceRef keeper = new_source(&looper->kept, looper->loop);
    atomic_store(&looper->ready, 1);
    while (!atomic_load(&looper->finished))
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunStopped);
    end_source(keeper);
    return NULL;
}

static inline void start_looper(struct looper *looper)
{
    *looper = (struct looper){0};
    CHECK(pthread_create(&looper->thread, NULL, run_looper, looper) == 0);
    until(&looper->ready, 1);
}

static inline void finish_looper(void *info)
{
    atomic_store(&((struct looper *)info)->finished, 1);
    RLRunLoopStop(((struct looper *)info)->loop);
}

static inline void stop_looper(struct looper *looper)
{
    CHECK(RLRunLoopPostFunction(looper->loop, kRLRunLoopDefaultMode, finish_looper, looper));
    CHECK(pthread_join(looper->thread, NULL) == 0);
}

#endif
