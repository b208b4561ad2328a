/* The companion's own thread: it watches for stalls and explains loops. There is one in a process that has asked for it, from the first
   callback or sleep on; in a child of fork() it begins anew. */
#ifndef RUNLOOP_TRACE_SERVICE_H
#define RUNLOOP_TRACE_SERVICE_H
#include <RunLoop/RunLoop.h>

#define SERVICE_EXPLAIN 1 /* the message number by which all loops are explained; the reply is a text */

/* Starts the thread, or has it started by the first event if `isLazy`. 0 with errno if that fails. Any thread. */
int serviceStart(int isLazy);
/* Answers messages from now on. Any thread. */
void serviceAnswer(void);
/* Has the thread look again at what it has to do. Any thread, async-signal-safe. */
void servicePoke(void);
/* Writes explanations to stderr at this signal. 0 with errno. */
int serviceExplainOn(int number);
/* To be called once, when the companion is loaded. */
void serviceLoaded(void);

/* The number of a signal: "USR2", "SIGUSR2", "RTMIN+3", "12"; 0 if it is none. */
int signalNamed(const char *name);

/* Stalls.c: on the companion's thread. Adds what it needs to its loop. */
void stallsUpdate(void);
/* From the environment; 0 if it asks for nothing. */
int stallsBegin(const char *value, const char *signalName);

#endif
