/* Signals as people write them. Shared by the companion and the command `runloop`. */
#ifndef RUNLOOP_TRACE_SIGNAL_NAME_H
#define RUNLOOP_TRACE_SIGNAL_NAME_H

/* The number of a signal: "USR2", "SIGUSR2", "RTMIN+3", "12"; 0 if it is none. */
int signalNamed(const char *name);

#endif
