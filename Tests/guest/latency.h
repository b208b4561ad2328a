/* Measures how long a callback takes to follow its cause, as a median: `make -C Tests/bench guests` compares a
 * host's own callbacks with those of a run loop inside it. Uses one thread, or two on one processor, to measure work
 * and not the scheduler's choice. */
#ifndef RUNLOOP_TESTS_GUEST_LATENCY_H
#define RUNLOOP_TESTS_GUEST_LATENCY_H
#include "check.h"
#include <sched.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>

enum { latency_rounds = 20000 };

static int latency_descriptor, latency_count;
static RLBoolean latency_from_thread;
static double latency_samples[latency_rounds], latency_cause;
static void (*latency_quit)(void);

static inline double latency_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static inline void latency_write(void)
{
    uint64_t one = 1;
    latency_cause = latency_now();
    CHECK(write(latency_descriptor, &one, sizeof one) == sizeof one);
}

/* The callback of a descriptor or a posted function. */
static inline void latency_called(void *info)
{
    uint64_t value;
    (void)info;
    latency_samples[latency_count++] = latency_now() - latency_cause;
    if (latency_descriptor >= 0)
        CHECK(read(latency_descriptor, &value, sizeof value) == sizeof value);
    if (latency_from_thread)
        write_byte(NULL);
    else if (latency_count < latency_rounds)
        latency_write();
    if (latency_count == latency_rounds)
        latency_quit();
}
static inline void latency_ready(void) { latency_called(NULL); }

/* Causes the next callback when notified that the last one was called. */
static inline void *latency_thread(void *info)
{
    for (int i = 0; i < latency_rounds; i++) {
        if (latency_descriptor >= 0) {
            latency_write();
        } else {
            latency_cause = latency_now();
            RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, latency_called, NULL);
        }
        read_byte();
    }
    return info;
}

static inline int latency_compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}
static inline int latency_port(void *info)
{
    (void)info;
    return latency_descriptor;
}

/* kind: "own" and "own-thread" use the watch function; "descriptor" and "post" use the run loop. */
static inline void measure_latency(const char *kind, void (*watch)(int fd, void (*ready)(void)), void (*run)(void),
                                   void (*quit)(void))
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    latency_quit = quit;
    latency_from_thread = strcmp(kind, "own-thread") == 0 || strcmp(kind, "post") == 0;
    latency_descriptor = strcmp(kind, "post") == 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (strcmp(kind, "descriptor") == 0) {
        RLRunLoopSourceContext1 context = {.version = 1, .getPort = latency_port, .perform = latency_called};
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
        RLRelease(source);
    } else if (latency_descriptor >= 0) {
        watch(latency_descriptor, latency_ready);
    }
    if (!latency_from_thread)
        latency_write();
    run_beside(latency_from_thread ? latency_thread : NULL, run);
    qsort(latency_samples, latency_rounds, sizeof(double), latency_compare);
    printf("%.0f\n", latency_samples[latency_rounds / 2]);
}
#endif
