/* Prints metrics as text. */
#include "Stat.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 40, CELL = 24 };

static const char *const kindNames[16] = {"other",  "source", "timer",        "observer", "function",     "descriptor",
                                          "socket", "port",   "message port", "reply",    "invalidation", "other",
                                          "other",  "other",  "other",        "other"};

static uint64_t callsOf(const RLTraceMetrics *metrics)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < 16; kind++)
        sum += metrics->calls[kind];
    return sum;
}

/* Formats a duration as three digits and a unit. */
static const char *duration(uint64_t nanoseconds, char text[CELL])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)nanoseconds;
    int unit = 0;
    while (value >= 999.5 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(text, CELL, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
    return text;
}

static const char *quantile(const RLTraceHistogram *histogram, double part, char text[CELL])
{
    if (histogramCount(histogram) == 0)
        return "-";
    return duration(part < 1 ? RLTraceHistogramGetQuantile(histogram, part) : histogram->largest, text);
}

/* Formats a count or, if `seconds` is not 0, the count per second. */
static const char *number(uint64_t count, double seconds, char text[CELL])
{
    double value = seconds > 0 ? (double)count / seconds : (double)count;
    if (value >= 1e7)
        snprintf(text, CELL, "%.1fM", value / 1e6);
    else if (seconds > 0 && value < 9.95 && count > 0)
        snprintf(text, CELL, "%.1f", value);
    else
        snprintf(text, CELL, "%.0f", value);
    return text;
}

/* Formats the share of time in which a thread was not asleep. */
static const char *awake(const RLTraceMetrics *metrics, char text[CELL])
{
    if (metrics->elapsed == 0 || metrics->passes + metrics->sleeps == 0)
        return "-";
    snprintf(text, CELL, "%.1f%%", 100 - 100 * (double)metrics->slept / (double)metrics->elapsed);
    return text;
}

/* Orders rows by process; the main thread of each first, then the others in the order in which they began. */
static int compareRows(const void *left, const void *right)
{
    const struct Row *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if ((a->thread == a->process) != (b->thread == b->process))
        return a->thread == a->process ? -1 : 1;
    if (a->began != b->began)
        return a->began < b->began ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void sortRows(struct Sample *sample)
{
    if (sample->count > 0)
        qsort(sample->rows, sample->count, sizeof *sample->rows, compareRows);
}

void printTable(FILE *file, struct Sample *sample, double seconds)
{
    sortRows(sample);
    fprintf(file, "%-24s %6s %7s %7s %7s %8s %8s %8s %8s %7s %8s %8s\n", "THREAD", "AWAKE", "PASSES", "SLEEPS", "CALLS",
            "P50", "P99", "MAX", "LATE P99", "WAKES", "SYSCALLS", "SPURIOUS");
    for (size_t index = 0; index < sample->count; index++) {
        const struct Row *row = &sample->rows[index];
        const RLTraceMetrics *its = &row->metrics;
        char name[TRACE_NAME_SIZE + 16], cells[11][CELL];
        if (index == 0 || row[-1].process != row->process)
            fprintf(file, "%s (%d)\n", row->processName, row->process);
        snprintf(name, sizeof name, "  %.15s %d", row->threadName, row->thread);
        fprintf(file, "%-24s %6s %7s %7s %7s %8s %8s %8s %8s %7s %8s %8s\n", name, awake(its, cells[0]),
                number(its->passes, seconds, cells[1]), number(its->sleeps, seconds, cells[2]),
                number(callsOf(its), seconds, cells[3]), quantile(&its->callTimes, 0.5, cells[4]),
                quantile(&its->callTimes, 0.99, cells[5]), quantile(&its->callTimes, 1, cells[6]),
                quantile(&its->lateness, 0.99, cells[7]), number(its->wakeUpsAsked, seconds, cells[8]),
                number(its->wakeUpsMade, seconds, cells[9]), number(its->spurious, seconds, cells[10]));
    }
}

static void printKinds(FILE *file, const RLTraceMetrics *metrics)
{
    const char *separator = ":";
    for (int kind = 0; kind < 16; kind++)
        if (metrics->calls[kind] > 0) {
            fprintf(file, "%s %s %llu", separator, kindNames[kind], (unsigned long long)metrics->calls[kind]);
            separator = ",";
        }
    fputc('\n', file);
}

static void printQuantiles(FILE *file, const char *name, const RLTraceHistogram *histogram)
{
    char cells[3][CELL];
    if (histogramCount(histogram) > 0)
        fprintf(file, "    %-16s p50 %s, p99 %s, max %s\n", name, quantile(histogram, 0.5, cells[0]),
                quantile(histogram, 0.99, cells[1]), quantile(histogram, 1, cells[2]));
}

static void printMetrics(FILE *file, const RLTraceMetrics *its, const char *after)
{
    char cells[2][CELL];
    if (its->passes + its->sleeps > 0) {
        fprintf(file, "    %-16s %s of %s%s\n", "awake", awake(its, cells[0]), duration(its->elapsed, cells[1]), after);
        fprintf(file, "    %-16s %llu\n", "passes", (unsigned long long)its->passes);
        fprintf(file, "    %-16s %llu, ended by another thread: %llu (spurious: %llu)\n", "sleeps",
                (unsigned long long)its->sleeps, (unsigned long long)its->woken, (unsigned long long)its->spurious);
    }
    if (callsOf(its) > 0) {
        fprintf(file, "    %-16s %llu", "callbacks", (unsigned long long)callsOf(its));
        printKinds(file, its);
    }
    printQuantiles(file, "callback time", &its->callTimes);
    printQuantiles(file, "timer lateness", &its->lateness);
    if (its->longestBatch > 0)
        fprintf(file, "    %-16s %llu\n", "longest batch", (unsigned long long)its->longestBatch);
    if (its->wakeUpsAsked + its->wakeUpsMade > 0)
        fprintf(file, "    %-16s %llu, with a system call: %llu\n", "wake-ups sent",
                (unsigned long long)its->wakeUpsAsked, (unsigned long long)its->wakeUpsMade);
}

static void printThread(FILE *file, const struct Row *row)
{
    static const char *const after[] = {[KNOWN] = "",
                                        [ASLEEP] = ", then asleep until its process ended",
                                        [AWAKE] = ", then awake until its process ended"};
    fprintf(file, "%s (%d), thread %s (%d)%s:\n", row->processName, row->process, row->threadName, row->thread,
            row->ended ? ", which has ended" : "");
    printMetrics(file, &row->metrics, after[row->end]);
}

void printSummary(FILE *file, struct Sample *sample)
{
    sortRows(sample);
    for (size_t index = 0; index < sample->count && index < MOST_ROWS; index++)
        printThread(file, &sample->rows[index]);
    if (sample->count <= MOST_ROWS)
        return;
    RLTraceMetrics rest = {0};
    for (size_t index = MOST_ROWS; index < sample->count; index++)
        metricsAdd(&rest, &sample->rows[index].metrics);
    fprintf(file, "%zu more threads, combined:\n", sample->count - MOST_ROWS);
    printMetrics(file, &rest, "");
}
