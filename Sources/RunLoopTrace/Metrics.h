/* What librunloop-trace.so counts of a thread, and where the command `runloop` reads it: in the file PID-TID.metrics, beside the records
   (TraceFile.h) and named like these, if there is a directory for them; otherwise in memory of the process alone. */
#ifndef RUNLOOP_TRACE_METRICS_H
#define RUNLOOP_TRACE_METRICS_H
#include "../../include/RunLoopTrace/RLTraceMetrics.h"
#include "TraceFile.h"

#define METRICS_MAGIC 0x3154415453524C52u /* "RLRSTAT1" */
#define METRICS_DEEPEST 32

/* A thread's counters. The thread alone writes; others read at any moment, so each word is right by itself. */
struct MetricsFile {
    uint64_t magic;
    uint64_t size; /* with the magic: which version of this file it is */
    int32_t process, thread;
    /* Nanoseconds of CLOCK_MONOTONIC: when counting began, when the thread ended (0: it has not), and when the clock was read last. */
    uint64_t began, ended, last;
    char processName[TRACE_NAME_SIZE];
    char threadName[TRACE_NAME_SIZE];
    uint64_t loop; /* its address; 0: the thread has run none */
    /* How long it has slept, in one word, so that no reader finds half a change: twice the nanoseconds, or, while it sleeps, twice what they
       are before the sleep minus the time at its beginning, plus 1. */
    uint64_t sleep;
    uint64_t isWoken, hasCalled; /* how the last sleep ended, and whether anything was called since */
    uint64_t depth;              /* callbacks that are being called, one within the other */
    uint64_t starts[METRICS_DEEPEST],
        functions[METRICS_DEEPEST]; /* when; how many functions in the pass at this depth */
    RLTraceMetrics metrics;         /* without elapsed and slept */
};

/* Words that one thread writes and others read. */
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

/* The bucket of a duration. */
unsigned histogramBucket(uint64_t value);
uint64_t histogramCount(const RLTraceHistogram *histogram);
void metricsAdd(RLTraceMetrics *sum, const RLTraceMetrics *metrics);
/* The metrics of a thread, from a copy of its file; `now` was read after it was copied. */
void metricsRead(const struct MetricsFile *file, uint64_t now, RLTraceMetrics *metrics);

#endif
