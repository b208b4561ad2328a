/* The counters that librunloop-trace.so keeps for a thread, and where the command `runloop` reads them: in the file
   PID-TID.metrics, beside and named like the records (TraceFile.h), if there is a directory for them; otherwise only
   the process has them, in its memory. */
#ifndef RUNLOOP_TRACE_METRICS_H
#define RUNLOOP_TRACE_METRICS_H
#include "../../include/RunLoopTrace/RLTraceMetrics.h"
#include "TraceFile.h"

#define METRICS_MAGIC 0x3154415453524C52u /* "RLRSTAT1" */
#define METRICS_DEEPEST 32

/* A thread's counters. Only the thread writes them. Others read them at any moment, so each word is consistent by
   itself. */
struct MetricsFile {
    uint64_t magic;
    uint64_t size; /* with the magic number, the version of this file */
    int32_t process, thread;
    /* In nanoseconds of CLOCK_MONOTONIC: when counting started, when the thread exited (0: it has not), and when the
       clock was last read. */
    uint64_t began, ended, last;
    char processName[TRACE_NAME_SIZE];
    char threadName[TRACE_NAME_SIZE];
    uint64_t loop; /* the loop's address; 0: the thread has not run one */
    /* The total time slept, in one word, so that no reader sees an inconsistent value. Awake: twice the nanoseconds.
       Asleep: twice the difference of the nanoseconds before this sleep and the time at which it began, plus 1. */
    uint64_t sleep;
    uint64_t isWoken, hasCalled; /* whether another thread ended the last sleep, and whether a callback other than an
                                    observer's was called since */
    uint64_t depth;              /* how many callbacks are running, nested in each other */
    uint64_t starts[METRICS_DEEPEST],
        functions[METRICS_DEEPEST]; /* at each depth: when the callback began, in ticks; posted functions that the pass
                                       has called */
    RLTraceMetrics metrics;         /* elapsed and slept are unused */
};

/* Access to words that one thread writes and others read. */
static inline uint64_t get(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void put(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }
static inline void count(uint64_t *word, uint64_t more) { put(word, get(word) + more); }
static inline void keepLargest(uint64_t *word, uint64_t value)
{
    if (value > get(word))
        put(word, value);
}

static inline void copyFile(const struct MetricsFile *file, struct MetricsFile *copy)
{
    for (size_t index = 0; index < sizeof *copy / sizeof(uint64_t); index++)
        ((uint64_t *)copy)[index] = __atomic_load_n((const uint64_t *)file + index, __ATOMIC_RELAXED);
}

/* Histogram.c */

/* Returns the bucket for a duration. */
unsigned histogramBucket(uint64_t value);
uint64_t histogramCount(const RLTraceHistogram *histogram);
/* Does what RLTraceMetricsSubtract() does, without checking the versions. */
void metricsSubtract(RLTraceMetrics *metrics, const RLTraceMetrics *earlier);
void metricsAdd(RLTraceMetrics *sum, const RLTraceMetrics *metrics);
/* Computes a thread's metrics from a copy of its file. `now` was read after the file was copied. */
void metricsRead(const struct MetricsFile *file, uint64_t now, RLTraceMetrics *metrics);

/* MetricsVersion.c */

/* Returns whether a program's struct has a version that this library knows. If not, or if there is no struct, reports
   misuse and sets errno to EINVAL, which calls user code (the error handler). */
int metricsAreKnown(const RLTraceMetrics *metrics, const char *function, const char *parameter);

#endif
