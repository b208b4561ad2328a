/* How long a thread has waited for a processor: it was ready to run, but other threads had all processors. */
#ifndef RUNLOOP_TRACE_PROCESSOR_H
#define RUNLOOP_TRACE_PROCESSOR_H
#include <stdint.h>

/* What the kernel knows about a thread, in nanoseconds since the thread began. */
struct ProcessorTimes {
    uint64_t ran;
    uint64_t waited; /* the time spent waiting for a processor, without a wait that has not ended */
    char state;      /* the state letter in /proc/TID/stat; R: it runs, or waits for a processor */
};

/* The samples of a thread. All 0 at first. */
struct ProcessorWaits {
    struct ProcessorTimes last; /* state 0: there was no sample */
    uint64_t settled;           /* the kernel's sum of waits, including known ones that the kernel will add */
    uint64_t known;             /* how long the thread has waited since the first sample */
};

/* Returns how much of the time that has `elapsed` since the last sample the thread has waited for a processor. The
   first sample has nothing to compare with: all of the time counts as a wait if the thread is ready to run, and
   otherwise none. */
uint64_t processorWaited(struct ProcessorWaits *waits, const struct ProcessorTimes *now, uint64_t elapsed);

/* Queries the kernel about a thread of this process. A value that the kernel does not provide is 0. */
struct ProcessorTimes processorTimes(int thread);

#endif
