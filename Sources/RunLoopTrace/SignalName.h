/* Signal names as users write them. Shared by the companion and the command `runloop`. */
#ifndef RUNLOOP_TRACE_SIGNAL_NAME_H
#define RUNLOOP_TRACE_SIGNAL_NAME_H

/* Returns the number of a signal given as "USR2", "SIGUSR2", "RTMIN+3" or "12"; 0 if there is no such signal. */
int signalNamed(const char *name);

#endif
