/* What librunloop-trace.so starts when it is preloaded into a process: only what environment variables ask for. A process with more rights
   than its caller (set-user-ID) ignores them. */
#include "Companion.h"
#include "Files.h"
#include "Metrics.h"
#include "Service.h"
#include "SignalName.h"
#include "Words.h"
#include <stdlib.h>

THREAD_LOCAL int isCompanionThread;
int hasCounter;

__attribute__((constructor)) static void begin(void)
{
    hasCounter = traceHasCounter();
    traceUseDirectory(secure_getenv("RUNLOOP_TRACE"));
    const struct ProbePart *trace = traceBegin();
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
