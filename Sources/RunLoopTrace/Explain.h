/* What loops do, in words. */
#ifndef RUNLOOP_TRACE_EXPLAIN_H
#define RUNLOOP_TRACE_EXPLAIN_H
#include <RunLoop/RunLoop.h>

/* A paragraph for each loop of the process, or one for `only`; for the caller to free. NULL if there is no memory, or no such loop.
   `mayWait`: 20 ms may be spent to look twice at a loop that does not sleep. Any thread; not in a probe. */
char *explain(RLRunLoopRef only, int mayWait);

#endif
