/* How long a tick of the processor's counter is. */
#ifndef RUNLOOP_TRACE_TICKS_H
#define RUNLOOP_TRACE_TICKS_H
#include "Companion.h"

/* Nanoseconds of a tick, times 2 to the power of 32; 0: not measured yet. */
extern uint64_t tickLength;

/* Reads the clocks for the first time. */
void ticksBegin(void);
/* Reads them for the second time, after at least 50 µs, which it waits for. Any thread; async-signal-safe. */
void ticksMeasure(void);

static inline uint64_t ticksToNanoseconds(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * __atomic_load_n(&tickLength, __ATOMIC_RELAXED) >> 32);
}

#endif
