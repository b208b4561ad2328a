/* What `runloop stat` and `runloop top` share. A file's functions are grouped below its name. */
#ifndef RUNLOOP_STAT_H
#define RUNLOOP_STAT_H
#include "../RunLoopTrace/Metrics.h"
#include "Command.h"

/* A thread, and what was counted of it. */
struct Row {
    /* Whether it is known until when it was asleep or awake, or else which of these it was when its process was killed, or ended without it. */
    enum { KNOWN, ASLEEP, AWAKE } end;
    int process, thread;
    uint64_t began, ended; /* nanoseconds of CLOCK_MONOTONIC; ended is 0 if it has not */
    char processName[TRACE_NAME_SIZE], threadName[TRACE_NAME_SIZE];
    RLTraceMetrics metrics;
};

/* What all threads had counted at one time. */
struct Sample {
    struct Row *rows;
    size_t count;
    int isQuiet;    /* files that are not ours are not named */
    int isOfLiving; /* processes that have ended are left out */
};

/* MetricsFiles.c */

/* Adds the threads whose files are in a directory, of one process or, if that is 0, of all. */
void addMetrics(struct Sample *sample, const char *directory, int process);
/* Calls a function for each directory in which the user's traced processes may have their files. */
void forEachDirectory(void (*function)(const char *directory, void *info), void *info);
/* Finds the directory of a process, or ends the command with a line. Returns whether the process runs. */
int findMetrics(int process, char directory[4096]);

/* StatCommand.c */

/* Reads a number of seconds; 0 if it is none. */
double secondsOf(const char *text);
/* Leaves in a sample what was counted since an earlier one. */
void subtractSample(struct Sample *sample, const struct Sample *earlier);

struct Sample copySample(const struct Sample *sample);

/* Table.c */

/* Prints a line for each thread. `seconds`: how long a sample took, to print rates; 0 for counts. */
void printTable(FILE *file, struct Sample *sample, double seconds);
/* Prints all that was counted of each thread. */
void printSummary(FILE *file, struct Sample *sample);

#endif
