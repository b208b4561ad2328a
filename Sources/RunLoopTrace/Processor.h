/* How long a thread has waited for a processor: ready to run, while others had all processors. */
#ifndef RUNLOOP_TRACE_PROCESSOR_H
#define RUNLOOP_TRACE_PROCESSOR_H
#include <stdint.h>

/* What the kernel says of a thread, in nanoseconds since it began. */
struct ProcessorTimes {
    uint64_t ran;
    uint64_t waited; /* for a processor, without a wait that has not ended */
    char state;      /* its letter in /proc/TID/stat; R: it runs, or waits for a processor */
};

/* The looks at a thread. All 0 at first. */
struct ProcessorWaits {
    struct ProcessorTimes last; /* state 0: there was no look */
    uint64_t settled;           /* the kernel's sum of waits, with those that it will have and that are known already */
    uint64_t known;             /* how much the thread has waited since the first look */
};

/* How much of the time that has `elapsed` since the last look the thread has not been seen to run or to block. Such time is a wait for a
   processor, but for the first look, which cannot know. */
uint64_t processorWaited(struct ProcessorWaits *waits, const struct ProcessorTimes *now, uint64_t elapsed);

/* Asks the kernel about a thread of this process. What it does not say is 0. */
struct ProcessorTimes processorTimes(int thread);

#endif
