/** @file RunLoopTrace.h
 *  Looking into run loops from within the program. Every header of librunloop-trace.so at once. Link with
 *  -lrunloop-trace -lrunloop (pkg-config runloop-trace).
 *
 *      RLStallWatch.h    callbacks that last too long; what loops do, in words
 *      RLTraceMetrics.h  how busy loops are, how long callbacks take, how late timers are, in numbers
 *
 *  The command `runloop` preloads the same library into programs that are not linked with it: runloop(1). What
 *  RLBase.h promises under "What every function promises" holds here, too. */
#ifndef RUNLOOPTRACE_RUNLOOPTRACE_H
#define RUNLOOPTRACE_RUNLOOPTRACE_H
#include <RunLoop/RunLoop.h>
#include <RunLoopTrace/RLStallWatch.h>
#include <RunLoopTrace/RLTraceMetrics.h>
#endif
