/* Shared declarations of the parts of librunloop-trace.so. Each part (traces, metrics, the state of each thread) is
   notified of all that the library's probe is notified of (Parts.c). */
#ifndef RUNLOOP_TRACE_COMPANION_H
#define RUNLOOP_TRACE_COMPANION_H
#include "TraceFile.h"
#include <RunLoop/RunLoop.h>
#include <time.h>

#define THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* 1 on the companion's own thread, whose events are not forwarded to any part. */
extern THREAD_LOCAL int isCompanionThread;

/* What a probe is notified of. Fields that the kind does not have are 0 or NULL. */
struct ProbeEvent {
    uint32_t kind;
    uint32_t detail; /* of a callback; what ended a sleep; for a request that is sent or has arrived: whether it wants a
                        reply */
    const void *object; /* NULL for calls of sources and functions */
    void (*function)(void);
    const void *info;
    uint64_t number; /* for requests and replies, the same at both ends; when a sleep ends at the latest, UINT64_MAX for
                        no limit */
};

/* The functions of a part; those that are NULL are not called. */
typedef void (*ProbePartFunction)(const struct ProbeEvent *event);
struct ProbePart {
    ProbePartFunction willCall, didCall, willSleep, didSleep, sent, received, dropped, willPass;
};

/* Puts a part into use, permanently, and sets the process's probe. The part may be notified of the end of callbacks
   whose beginning it has not seen. Returns 0 if there are too many parts or the probe cannot be set. Any thread. */
int companionUse(const struct ProbePart *part);

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
const struct ProbePart *traceBegin(void);

#endif
