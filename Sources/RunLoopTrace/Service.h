/* The companion's own thread: it watches for stalls and explains loops. There is one in a process that has asked for it, from the first
   callback or sleep on; in a child of fork() it begins anew. It has no run loop and no descriptors: the program may close, and use again,
   all that it did not open itself. */
#ifndef RUNLOOP_TRACE_SERVICE_H
#define RUNLOOP_TRACE_SERVICE_H
#include <stdint.h>

/* Starts the thread, or has it started by the first event if `isLazy`. 0 with errno if that fails. Any thread. */
int serviceStart(int isLazy);
/* Lets the command ask from now on: Inspection.h. Any thread. */
void serviceAnswer(void);
/* Has the thread look again at what it has to do. Any thread, async-signal-safe. */
void servicePoke(void);
/* Writes explanations to stderr at this signal. 0 with errno. */
int serviceExplainOn(int number);
/* To be called once, when the companion is loaded. */
void serviceLoaded(void);

/* Stalls.c: looks at all threads if it is time. Returns when it is time again, by CLOCK_MONOTONIC; UINT64_MAX: not at all, as nothing is
   watched. On the companion's thread. */
uint64_t stallsLook(void);
/* From the environment; 0 if it asks for nothing. */
int stallsBegin(const char *value, const char *signalName);

#endif
