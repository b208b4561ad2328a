/* The length of a tick of the processor's counter. */
#ifndef RUNLOOP_TRACE_TICKS_H
#define RUNLOOP_TRACE_TICKS_H
#include "Companion.h"

/* The nanoseconds of a tick, times 2 to the power of 32; 0: not measured yet. */
extern uint64_t tickLength;

/* Takes the first reading of both clocks. */
void ticksBegin(void);
/* Takes the second reading at least 50 µs after the first, waiting if necessary, and sets tickLength. No effect if that
   is set. Any thread; async-signal-safe. */
void ticksMeasure(void);

static inline uint64_t ticksToNanoseconds(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * __atomic_load_n(&tickLength, __ATOMIC_RELAXED) >> 32);
}

#endif
