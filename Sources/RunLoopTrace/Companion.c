/* The probe of librunloop-trace.so, and what the library starts when it is preloaded into a process: only what environment variables ask
   for. A process with more rights than its caller (set-user-ID) ignores them. */
#include "Companion.h"
#include "Files.h"
#include "KitCallbacks.h"
#include "Metrics.h"
#include "Service.h"
#include "SignalName.h"
#include "Words.h"
#include <stddef.h>
#include <stdlib.h>

#define PARTS 4

THREAD_LOCAL int isCompanionThread;
int hasCounter;

/* Parts are only added, never removed. The count is written last. */
static const RLRunLoopProbe *parts[PARTS];
static int partCount;

#define TELL(name, function)                                                               \
    static void name(const RLRunLoopProbeEvent *event)                                     \
    {                                                                                      \
        int count = isCompanionThread ? 0 : __atomic_load_n(&partCount, __ATOMIC_ACQUIRE); \
        for (int index = 0; index < count; index++)                                        \
            if (parts[index]->function != NULL)                                            \
                parts[index]->function(event);                                             \
    }
TELL(tellWillCall, willCall)
TELL(tellDidCall, didCall)
TELL(tellSent, sent)
TELL(willSleep, willSleep)
TELL(didSleep, didSleep)
TELL(received, received)
TELL(dropped, dropped)
TELL(willPass, willPass)

/* The event with the function that is to be shown. */
static inline const RLRunLoopProbeEvent *shown(const RLRunLoopProbeEvent *event, KitFunction function,
                                               RLRunLoopProbeEvent *copy)
{
    if (function == event->function)
        return event;
    *copy = *event;
    copy->function = function;
    return copy;
}
#define TELL_SHOWN(name, tell, functionOf)             \
    static void name(const RLRunLoopProbeEvent *event) \
    {                                                  \
        RLRunLoopProbeEvent copy;                      \
        tell(shown(event, functionOf(event), &copy));  \
    }
TELL_SHOWN(willCall, tellWillCall, kitFunctionAtBegin)
TELL_SHOWN(didCall, tellDidCall, kitFunctionAtEnd)
TELL_SHOWN(sent, tellSent, kitFunctionWhenSent)

int companionUse(const RLRunLoopProbe *part)
{
    static const RLRunLoopProbe probe = {0, willCall, didCall, willSleep, didSleep, sent, received, dropped, willPass};
    static int isTaken, isSet;
    kitFind();
    while (__atomic_exchange_n(&isTaken, 1, __ATOMIC_ACQUIRE))
        continue;
    int count = partCount, isNew = 1;
    for (int index = 0; index < count; index++)
        isNew &= parts[index] != part;
    int isPossible = !isNew || count < PARTS;
    if (isNew && isPossible) {
        parts[count] = part;
        __atomic_store_n(&partCount, count + 1, __ATOMIC_RELEASE);
        isSet = 0;
    }
    /* A probe that the program has set since stays, unless the program registers another part here. */
    if (isPossible && !isSet)
        isSet = isPossible = RLRunLoopSetProbe(&probe) != 0;
    __atomic_store_n(&isTaken, 0, __ATOMIC_RELEASE);
    return isPossible;
}

__attribute__((constructor)) static void begin(void)
{
    hasCounter = traceHasCounter();
    traceUseDirectory(secure_getenv("RUNLOOP_TRACE"));
    const RLRunLoopProbe *trace = traceBegin();
    if (trace != NULL)
        companionUse(trace);
    if (traceHasDirectory())
        RLTraceMetricsStart();
    serviceLoaded();
    const char *explain = secure_getenv("RUNLOOP_EXPLAIN"), *signal = secure_getenv("RUNLOOP_EXPLAIN_SIGNAL");
    const char *stall = secure_getenv("RUNLOOP_STALL");
    int wanted = stall && *stall && stallsBegin(stall, secure_getenv("RUNLOOP_STALL_SIGNAL"));
    if (explain && *explain) {
        serviceAnswer();
        wanted = 1;
    }
    if (signal && *signal) {
        int number = signalNamed(signal);
        int isSet = number != 0 && serviceExplainOn(number);
        if (!isSet)
            writeFormat("runloop: RUNLOOP_EXPLAIN_SIGNAL=%s: no such signal, or it cannot be caught", signal);
        wanted |= isSet;
    }
    if (wanted)
        serviceStart(1);
}
