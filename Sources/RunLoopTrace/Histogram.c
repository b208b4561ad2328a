/* The arithmetic of RLTraceMetrics.h, for programs and for the command. */
#include "Metrics.h"

/* Values below 4 have a bucket each. Above that, the highest bit and the two bits below it select the bucket. */
unsigned histogramBucket(uint64_t value)
{
    if (value < 4)
        return (unsigned)value;
    unsigned highest = 63 - (unsigned)__builtin_clzll(value);
    unsigned bucket = 4 * (highest - 1) + (unsigned)(value >> (highest - 2) & 3);
    return bucket < kRLTraceBuckets ? bucket : kRLTraceBuckets - 1;
}

/* Returns the largest value that belongs to a bucket. */
static uint64_t upperEnd(unsigned bucket)
{
    if (bucket < 4)
        return bucket;
    unsigned next = bucket + 1;
    return (((uint64_t)4 + next % 4) << (next / 4 - 1)) - 1;
}

uint64_t histogramCount(const RLTraceHistogram *histogram)
{
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < kRLTraceBuckets; bucket++)
        count += histogram->buckets[bucket];
    return count;
}

uint64_t RLTraceHistogramGetQuantile(const RLTraceHistogram *histogram, double quantile)
{
    uint64_t count = histogramCount(histogram), seen = 0;
    for (unsigned bucket = 0; bucket < kRLTraceBuckets; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen == 0 || (double)seen < quantile * (double)count)
            continue;
        uint64_t end = upperEnd(bucket);
        return end < histogram->largest && bucket < kRLTraceBuckets - 1 ? end : histogram->largest;
    }
    return 0;
}

static void subtract(RLTraceHistogram *histogram, const RLTraceHistogram *earlier)
{
    unsigned highest = 0;
    histogram->sum -= earlier->sum;
    for (unsigned bucket = 0; bucket < kRLTraceBuckets; bucket++) {
        histogram->buckets[bucket] -= earlier->buckets[bucket];
        if (histogram->buckets[bucket] > 0)
            highest = bucket;
    }
    if (histogramBucket(histogram->largest) != highest)
        histogram->largest = histogram->buckets[highest] > 0 ? upperEnd(highest) : 0;
}

/* Returns the difference, or 0 if it is negative: the earlier copy of a thread's file counts a sleep as too long if the thread was just
   waking up when it was copied. */
static uint64_t since(uint64_t now, uint64_t earlier) { return now > earlier ? now - earlier : 0; }

void metricsSubtract(RLTraceMetrics *metrics, const RLTraceMetrics *earlier)
{
    metrics->elapsed = since(metrics->elapsed, earlier->elapsed);
    metrics->slept = since(metrics->slept, earlier->slept);
    metrics->passes -= earlier->passes;
    metrics->sleeps -= earlier->sleeps;
    metrics->woken -= earlier->woken;
    metrics->spurious -= earlier->spurious;
    for (int kind = 0; kind < kRLTraceKinds; kind++)
        metrics->calls[kind] -= earlier->calls[kind];
    metrics->wakeUpsAsked -= earlier->wakeUpsAsked;
    metrics->wakeUpsMade -= earlier->wakeUpsMade;
    subtract(&metrics->callTimes, &earlier->callTimes);
    subtract(&metrics->lateness, &earlier->lateness);
}

static void add(RLTraceHistogram *sum, const RLTraceHistogram *histogram)
{
    sum->sum += histogram->sum;
    if (histogram->largest > sum->largest)
        sum->largest = histogram->largest;
    for (unsigned bucket = 0; bucket < kRLTraceBuckets; bucket++)
        sum->buckets[bucket] += histogram->buckets[bucket];
}

void metricsAdd(RLTraceMetrics *sum, const RLTraceMetrics *metrics)
{
    sum->elapsed += metrics->elapsed;
    sum->slept += metrics->slept;
    sum->passes += metrics->passes;
    sum->sleeps += metrics->sleeps;
    sum->woken += metrics->woken;
    sum->spurious += metrics->spurious;
    for (int kind = 0; kind < kRLTraceKinds; kind++)
        sum->calls[kind] += metrics->calls[kind];
    sum->wakeUpsAsked += metrics->wakeUpsAsked;
    sum->wakeUpsMade += metrics->wakeUpsMade;
    if (metrics->longestBatch > sum->longestBatch)
        sum->longestBatch = metrics->longestBatch;
    add(&sum->callTimes, &metrics->callTimes);
    add(&sum->lateness, &metrics->lateness);
}

void metricsRead(const struct MetricsFile *file, uint64_t now, RLTraceMetrics *metrics)
{
    uint64_t end = file->ended ? file->ended : now;
    *metrics = file->metrics;
    metrics->elapsed = end > file->began ? end - file->began : 0;
    metrics->slept = file->sleep & 1 ? ((file->sleep >> 1) + end) & UINT64_MAX >> 1 : file->sleep >> 1;
    if (metrics->slept > metrics->elapsed)
        metrics->slept = metrics->elapsed;
}
