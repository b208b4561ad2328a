/* Shared declarations of the parts of librunloop-trace.so. Each part (traces, metrics, the state of each thread) is a
   probe; Companion.c forwards every event to all parts in use. */
#ifndef RUNLOOP_TRACE_COMPANION_H
#define RUNLOOP_TRACE_COMPANION_H
#include "TraceFile.h"
#include <RunLoop/RunLoop.h>
#include <time.h>

#define THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* 1 on the companion's own thread, whose events are not forwarded to any part. */
extern THREAD_LOCAL int isCompanionThread;

/* Puts a part into use, permanently, and sets the process's probe. The part may be notified of the end of callbacks
   whose beginning it has not seen. Returns 0 if there are too many parts or the probe cannot be set. Any thread. */
int companionUse(const RLRunLoopProbe *part);

static inline uint64_t clockNow(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Whether the processor has a counter that can be read instead of the clock. */
extern int hasCounter;
static inline uint64_t ticksNow(void) { return hasCounter ? traceCounter() : traceClock(); }

/* Trace.c: prepares recording into the directory that RUNLOOP_TRACE names. Returns NULL if there is none, or if nothing
   is to be recorded. */
const RLRunLoopProbe *traceBegin(void);

#endif
