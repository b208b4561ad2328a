/* The companion's own thread, which watches for stalls and explains loops. A process that asks for it has one, from the
   first callback or sleep on; a child of fork() starts another. The thread has no run loop and no descriptors, so the
   program may close, and reuse, all descriptors that it did not open itself. */
#ifndef RUNLOOP_TRACE_SERVICE_H
#define RUNLOOP_TRACE_SERVICE_H
#include <stdint.h>

/* Starts the thread or, if `isLazy`, has the first event start it. Returns 0 with errno on failure. Any thread. */
int serviceStart(int isLazy);
/* Allows the command to query the process from now on: see Inspection.h. Any thread. */
void serviceAnswer(void);
/* Makes the thread check again what it has to do. Any thread; async-signal-safe. */
void servicePoke(void);
/* Installs a signal handler that has explanations written to stderr. Returns 0 with errno on failure. */
int serviceExplainOn(int number);
/* Called once, when the companion is loaded. */
void serviceLoaded(void);

/* Stalls.c: samples all threads if that is due. Returns when it is due next, on CLOCK_MONOTONIC; UINT64_MAX if stalls
   are not watched for. Only on the companion's thread. */
uint64_t stallsLook(void);
/* Starts to watch for stalls as the environment asks. Returns 0, after a line on stderr, if the value is invalid. */
int stallsBegin(const char *value, const char *signalName);

#endif
