/* Explanations in words of what loops are doing. */
#ifndef RUNLOOP_TRACE_EXPLAIN_H
#define RUNLOOP_TRACE_EXPLAIN_H
#include <RunLoop/RunLoop.h>

/* Returns a paragraph for each loop of the process, or one for `only`, which the caller frees; NULL if out of memory,
   or if there is no such loop. With `mayWait`, takes 5 ms to check twice whether a loop that does not rest reads its
   descriptor. Any thread; not in a probe. */
char *explain(RLRunLoopRef only, int mayWait);

#endif
