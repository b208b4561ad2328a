/* Shared declarations of `runloop stat` and `runloop top`. The functions of a file are grouped below its name. */
#ifndef RUNLOOP_STAT_H
#define RUNLOOP_STAT_H
#include "../RunLoopTrace/Metrics.h"
#include "Command.h"

/* A thread and its counters. */
struct Row {
    /* Whether the thread's last counts are complete. Otherwise, whether it was asleep or awake when its process was
       killed or ended without it. */
    enum { KNOWN, ASLEEP, AWAKE } end;
    int process, thread;
    uint64_t began, ended; /* in nanoseconds of CLOCK_MONOTONIC; ended is 0 if the thread has not exited */
    char processName[TRACE_NAME_SIZE], threadName[TRACE_NAME_SIZE];
    RLTraceMetrics metrics;
};

/* What all threads had counted at one time. */
struct Sample {
    struct Row *rows;
    size_t count;
    int isQuiet;    /* files that are not valid are not reported */
    int isOfLiving; /* processes that have ended are left out */
};

/* MetricsFiles.c */

/* Adds the threads whose files are in a directory, for one process or, if `process` is 0, for all. */
void addMetrics(struct Sample *sample, const char *directory, int process);
/* Calls a function for each directory in which the user's traced processes may have their files. */
void forEachDirectory(void (*function)(const char *directory, void *info), void *info);
/* Finds the directory of a process's files; exits after a line on stderr if there is none. Returns whether the process
   runs. */
int findMetrics(int process, char directory[4096]);

/* StatCommand.c */

/* Parses a number of seconds; returns 0 if it is invalid. */
double secondsOf(const char *text);
/* Subtracts an earlier sample, so that what was counted since remains. */
void subtractSample(struct Sample *sample, const struct Sample *earlier);

struct Sample copySample(const struct Sample *sample);

/* Table.c */

/* Prints a line for each thread. `seconds`: the time between two samples, to print rates; 0 to print counts. */
void printTable(FILE *file, struct Sample *sample, double seconds);
/* Prints all counters of each thread. */
void printSummary(FILE *file, struct Sample *sample);

#endif
