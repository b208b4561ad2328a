/** @file RunLoopTrace.h
 *  Inspecting run loops from within the program. Includes every header of librunloop-trace.so. Link with
 *  -lrunloop-trace -lrunloop (pkg-config runloop-trace).
 *
 *      RLStallWatch.h    callbacks that take too long; what loops are doing, in words
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
