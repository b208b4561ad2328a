/** @file RLTraceMetrics.h
 *  Metrics: how busy loops are, how long callbacks take, how late timers are, and who wakes whom, in numbers.
 *  Example: examples/metrics.c
 *
 *  They are counted for each thread, from RLTraceMetricsStart() on. Counters only grow: for the numbers of a minute,
 *  copy twice and subtract (RLTraceMetricsSubtract). `runloop stat` and `runloop top` show the same numbers of programs
 *  that were started by `runloop stat` or `runloop trace`.
 *
 *  Counting takes some 20 ns for each callback. It allocates nothing, takes no lock, and makes no system call except
 *  when a thread is counted for the first time. Times are nanoseconds of CLOCK_MONOTONIC. */
#ifndef RUNLOOPTRACE_RLTRACEMETRICS_H
#define RUNLOOPTRACE_RLTRACEMETRICS_H
#include <RunLoop/RunLoop.h>
RL_EXTERN_C_BEGIN

/** Sizes of the structs below. */
enum {
    kRLTraceBuckets = 160, /**< How many buckets a histogram has. */
    kRLTraceKinds = 16     /**< Kinds of callbacks are less than that. */
};

/** How many durations there were of which length, in four buckets for each power of two: a duration is known to one
 *  part in four or better. The first four buckets count 0, 1, 2 and 3 ns. Each further bucket b counts what is below
 *  (4 + (b + 1) % 4) << ((b + 1) / 4 - 1) ns, and in no earlier one; the last one also what is longer. */
typedef struct RLTraceHistogram {
    uint64_t sum;                      /**< All durations together. */
    uint64_t largest;                  /**< The longest. */
    uint64_t buckets[kRLTraceBuckets]; /**< How many, by their length. */
} RLTraceHistogram;

/** What was counted of a thread, or of several. */
typedef struct RLTraceMetrics {
    RLIndex version;               /**< 0. */
    uint64_t elapsed;              /**< How long the thread has been counted. Of several threads the sum. */
    uint64_t slept;                /**< How long it slept in its loop. Utilisation is 1 - slept / elapsed. */
    uint64_t passes;               /**< Passes of the loop. */
    uint64_t sleeps;               /**< Sleeps that have begun. A pass may have none or several. */
    uint64_t woken;                /**< Sleeps that another thread has ended. */
    uint64_t spurious;             /**< Wake-ups after which nothing was called before the next sleep. */
    uint64_t calls[kRLTraceKinds]; /**< Callbacks, by kind: calls[kRLRunLoopProbeTimer], … */
    /** How often this thread has asked others to wake up: calls of RLRunLoopWakeUp(), posts to other threads' loops
     *  (and to its own before its first pass), and messages sent to ports. */
    uint64_t wakeUpsAsked;
    uint64_t wakeUpsMade; /**< Sleeps of other threads that this thread has ended, by a system call each. */
    /** The most posted functions that one pass has called: the longest queue, unless a pass has left a part of it for
     *  the next, as it does after a millisecond. */
    uint64_t longestBatch;
    RLTraceHistogram callTimes; /**< How long callbacks took, with what they called. */
    RLTraceHistogram lateness;  /**< How long after their dates timers were called. */
} RLTraceMetrics;

/** Begins to count what the loops of the process do. Has no effect if that has begun.
 *  @return 1, or 0 if it is not possible.
 *  Cost: sets the probe of the process (RLRunLoopProbe.h). */
RL_EXPORT RLBoolean RLTraceMetricsStart(void);

/** Copies what was counted of a loop's thread.
 *  @param rl       a loop, of any thread; NULL: all threads together, also those that have ended.
 *  @param metrics  gets the numbers.
 *  @return 1, or 0 if nothing has been counted of that loop: then all numbers are 0.
 *  Cost: O(threads). */
RL_EXPORT RLBoolean RLTraceCopyMetrics(RLRunLoopRef rl, RLTraceMetrics *metrics);

/** Leaves in `metrics` what was counted since an earlier copy. The longest batch stays that of all time. The largest
 *  of a histogram is exact if it lies in the highest bucket that has grown, otherwise it is that bucket's upper end.
 *  @param metrics  a copy.
 *  @param earlier  an earlier copy of what the same loop's thread has counted. */
RL_EXPORT void RLTraceMetricsSubtract(RLTraceMetrics *metrics, const RLTraceMetrics *earlier);

/** Returns the duration that a part of all durations do not exceed: the median for 0.5. In nanoseconds: the upper end
 *  of the bucket that has it, or the largest if that is shorter; 0 if there are no durations.
 *  @param histogram  what was counted.
 *  @param quantile   from 0 to 1. */
RL_EXPORT uint64_t RLTraceHistogramGetQuantile(const RLTraceHistogram *histogram, double quantile);

RL_EXTERN_C_END
#endif
