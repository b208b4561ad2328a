/** @file RLTraceMetrics.h
 *  Metrics: how busy loops are, how long callbacks take, how late timers are, and which thread wakes which, in numbers.
 *  Example: examples/metrics.c
 *
 *  The metrics are counted for each thread, beginning with RLTraceMetricsStart(). Counters only grow: for the numbers
 *  of a minute, copy them twice and subtract (RLTraceMetricsSubtract). `runloop stat` and `runloop top` show the same
 *  numbers for programs that were started by `runloop stat` or `runloop trace`.
 *
 *  Counting takes about 20 ns for each callback. It allocates nothing, takes no lock, and makes no system call except
 *  when a thread is counted for the first time. Times are in nanoseconds of CLOCK_MONOTONIC. */
#ifndef RUNLOOPTRACE_RLTRACEMETRICS_H
#define RUNLOOPTRACE_RLTRACEMETRICS_H
#include <RunLoop/RunLoop.h>
RL_EXTERN_C_BEGIN

/** Sizes of the structs below. */
enum {
    kRLTraceBuckets = 160, /**< The number of buckets of a histogram. */
    kRLTraceKinds = 16     /**< All kinds of callbacks are less than this. */
};

/** A histogram of durations, with four buckets for each power of two: a duration is known to one part in four or
 *  better. The first four buckets count 0, 1, 2 and 3 ns. Each further bucket b counts the durations below (4 + (b + 1)
 *  % 4) << ((b + 1) / 4 - 1) ns that are in no earlier bucket; the last one also counts all longer ones. */
typedef struct RLTraceHistogram {
    uint64_t sum;                      /**< The sum of all durations. */
    uint64_t largest;                  /**< The longest duration. */
    uint64_t buckets[kRLTraceBuckets]; /**< The number of durations in each bucket. */
} RLTraceHistogram;

/** The metrics of a thread, or of several threads together. */
typedef struct RLTraceMetrics {
    RLIndex version;               /**< 0, set by the caller. */
    uint64_t elapsed;              /**< How long the thread has been counted. For several threads: the sum. */
    uint64_t slept;                /**< How long it slept in its loop. Utilization is 1 - slept / elapsed. */
    uint64_t passes;               /**< Passes of the loop. */
    uint64_t sleeps;               /**< Sleeps begun. A pass may have none or several. */
    uint64_t woken;                /**< Sleeps that were ended by another thread. */
    uint64_t spurious;             /**< Wake-ups after which nothing was called before the next sleep. */
    uint64_t calls[kRLTraceKinds]; /**< Callbacks, by kind: calls[kRLRunLoopProbeTimer], … */
    /** How often this thread requested other threads to wake up: calls of RLRunLoopWakeUp(), posts to other threads'
     *  loops (and to its own before its first pass), and messages sent to ports. */
    uint64_t wakeUpsAsked;
    uint64_t wakeUpsMade; /**< Sleeps of other threads that this thread ended, each by a system call. */
    /** The largest number of posted functions called in one pass: the longest queue, unless a pass left a part of it
     *  for the next pass, as it does after a millisecond. */
    uint64_t longestBatch;
    RLTraceHistogram callTimes; /**< How long callbacks took, including what they called. */
    RLTraceHistogram lateness;  /**< How long after their dates timers were called. */
} RLTraceMetrics;

/** Starts counting what the loops of the process do. It has no effect if counting has already started.
 *  @return 1, or 0 if it is not possible.
 *  Cost: sets the probe of the process (RLRunLoopProbe.h). */
RL_EXPORT RLBoolean RLTraceMetricsStart(void);

/** Copies the metrics of a loop's thread.
 *  @param rl       a loop, of any thread; NULL: all threads together, including those that have ended.
 *  @param metrics  receives the metrics. Set its version to 0 before the call: this determines how large the struct is,
 *                  and no more is written.
 *  @return 1, or 0 if nothing has been counted for that loop: then all numbers are 0.
 *  Errors: another version is misuse; nothing is written.  Cost: O(threads). */
RL_EXPORT RLBoolean RLTraceCopyMetrics(RLRunLoopRef rl, RLTraceMetrics *metrics);

/** Subtracts earlier metrics, so that `metrics` contains what was counted since then. The longest batch remains that of
 *  the whole time. The largest duration of a histogram is exact if it is in the highest bucket that has grown;
 *  otherwise it is the upper end of that bucket.
 *  @param metrics  a copy of the metrics.
 *  @param earlier  an earlier copy of the metrics of the same loop's thread, of the same version.
 *  Errors: a version other than 0 is misuse; nothing is written. */
RL_EXPORT void RLTraceMetricsSubtract(RLTraceMetrics *metrics, const RLTraceMetrics *earlier);

/** Returns a quantile of the durations in a histogram, such as the median for 0.5, in nanoseconds: the upper end of the
 *  bucket that contains it, or the largest duration if that is shorter; 0 if there are no durations.
 *  @param histogram  the histogram.
 *  @param quantile   the share of the durations that do not exceed the result, from 0 to 1. */
RL_EXPORT uint64_t RLTraceHistogramGetQuantile(const RLTraceHistogram *histogram, double quantile);

RL_EXTERN_C_END
#endif
