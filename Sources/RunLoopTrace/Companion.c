/* The probe of librunloop-trace.so, and what it begins with in a process that has it preloaded: nothing but what the environment asks for by
   name. */
#include "Companion.h"
#include "Files.h"
#include "Metrics.h"
#include "Service.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS 4

THREAD_LOCAL int isCompanionThread;
int hasCounter;

/* Grows only; the count is written last. */
static const RLRunLoopProbe *parts[PARTS];
static int partCount;

#define TELL(function)                                                                     \
    static void function(const RLRunLoopProbeEvent *event)                                 \
    {                                                                                      \
        int count = isCompanionThread ? 0 : __atomic_load_n(&partCount, __ATOMIC_ACQUIRE); \
        for (int index = 0; index < count; index++)                                        \
            if (parts[index]->function != NULL)                                            \
                parts[index]->function(event);                                             \
    }
TELL(willCall)
TELL(didCall)
TELL(willSleep)
TELL(didSleep)
TELL(sent)
TELL(received)
TELL(dropped)
TELL(willPass)

int companionUse(const RLRunLoopProbe *part)
{
    static const RLRunLoopProbe probe = {0, willCall, didCall, willSleep, didSleep, sent, received, dropped, willPass};
    static int isTaken;
    while (__atomic_exchange_n(&isTaken, 1, __ATOMIC_ACQUIRE))
        continue;
    int count = partCount, found = 0;
    for (int index = 0; index < count; index++)
        found |= parts[index] == part;
    if (!found && count < PARTS) {
        parts[count] = part;
        __atomic_store_n(&partCount, count + 1, __ATOMIC_RELEASE);
        found = 1;
    }
    __atomic_store_n(&isTaken, 0, __ATOMIC_RELEASE);
    return found && RLRunLoopSetProbe(&probe);
}

__attribute__((constructor)) static void begin(void)
{
    hasCounter = traceHasCounter();
    traceUseDirectory(getenv("RUNLOOP_TRACE"));
    const RLRunLoopProbe *trace = traceBegin();
    if (trace != NULL)
        companionUse(trace);
    if (traceHasDirectory())
        RLTraceMetricsStart();
    serviceLoaded();
    const char *explain = getenv("RUNLOOP_EXPLAIN"), *signal = getenv("RUNLOOP_EXPLAIN_SIGNAL");
    const char *stall = getenv("RUNLOOP_STALL");
    int wanted = stall && *stall && stallsBegin(stall, getenv("RUNLOOP_STALL_SIGNAL"));
    if (explain && *explain) {
        serviceAnswer();
        wanted = 1;
    }
    if (signal && *signal) {
        int number = signalNamed(signal);
        int isSet = number != 0 && serviceExplainOn(number);
        if (!isSet)
            fprintf(stderr, "runloop: RUNLOOP_EXPLAIN_SIGNAL=%s: no such signal, or it cannot be caught\n", signal);
        wanted |= isSet;
    }
    if (wanted)
        serviceStart(1);
}
