/* Helpers for all programs of this directory: checks, a run loop whose passes are counted, a pipe, threads. A
 * program that hangs is ended by a time limit outside. */
#ifndef RUNLOOP_TESTS_GUEST_CHECK_H
#define RUNLOOP_TESTS_GUEST_CHECK_H
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static RLRunLoopRef rl; /* the main thread's */
static int calls, passes, ends[2];

static void count_pass(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    (void)info;
    passes++;
}

/* Call this first. */
static RLRunLoopObserverRef begin_counting_passes(void)
{
    rl = RLRunLoopGetCurrent();
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, count_pass, NULL);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    CHECK(pipe(ends) == 0);
    return observer;
}

static void end_counting_passes(RLRunLoopObserverRef observer)
{
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
}

static inline void stop(void)
{
    calls++;
    RLRunLoopStop(rl);
}

static inline void *write_byte(void *info)
{
    CHECK(write(ends[1], "x", 1) == 1);
    return info;
}

static inline void read_byte(void)
{
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

/* Calls run() while a thread executes `body`. */
static inline void run_beside(void *(*body)(void *info), void (*run)(void))
{
    pthread_t thread;
    CHECK(body == NULL || pthread_create(&thread, NULL, body, NULL) == 0);
    run();
    CHECK(body == NULL || pthread_join(thread, NULL) == 0);
}

/* Runs the loop until stop(). */
static inline void run_loop(void) { CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunStopped); }
#endif
