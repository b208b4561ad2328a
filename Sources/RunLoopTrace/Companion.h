/* What the parts of librunloop-trace.so share. Each part (traces, the state of each thread) is a probe of its own; Companion.c hands every
   event to all parts that are in use. */
#ifndef RUNLOOP_TRACE_COMPANION_H
#define RUNLOOP_TRACE_COMPANION_H
#include "TraceFile.h"
#include <RunLoop/RunLoop.h>
#include <time.h>

#define THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* 1 on the companion's own thread, of whose loop no part is told. */
extern THREAD_LOCAL int isCompanionThread;

/* Puts a part into use, for good, and sets the probe of the process. It may be told of the end of calls whose beginning it has not seen.
   0 if there are too many parts. Any thread. */
int companionUse(const RLRunLoopProbe *part);

static inline uint64_t clockNow(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Whether the processor has a counter to read instead of the clock. */
extern int hasCounter;
static inline uint64_t ticksNow(void) { return hasCounter ? traceCounter() : traceClock(); }

/* Trace.c: records, in the directory that RUNLOOP_TRACE names. NULL if there is none, or nothing is to be recorded. */
const RLRunLoopProbe *traceBegin(void);

#endif
