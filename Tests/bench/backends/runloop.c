/*
 * runloop.c -- this project's library, on a thread of its own, in the same words as CoreFoundation.
 * What CoreFoundation has not: PerformFunctionAndWait ("call") and the spin interval.
 */
#include "../loop.h"
#include <RunLoop/RunLoop.h>

#define CFRunLoopRef RLRunLoopRef
#define CFRunLoopSourceRef RLRunLoopSourceRef
#define CFRunLoopTimerRef RLRunLoopTimerRef
#define CFAbsoluteTime RLAbsoluteTime
#define CFRunLoopSourceContext RLRunLoopSourceContext
#define CFRunLoopSourceContext1 RLRunLoopSourceContext1
#define CFRunLoopTimerContext RLRunLoopTimerContext
#define kCFRunLoopDefaultMode kRLRunLoopDefaultMode
#define CFRelease RLRelease
#define CFAbsoluteTimeGetCurrent RLAbsoluteTimeGetCurrent
#define CFRunLoopGetCurrent RLRunLoopGetCurrent
#define CFRunLoopRun RLRunLoopRun
#define CFRunLoopStop RLRunLoopStop
#define CFRunLoopWakeUp RLRunLoopWakeUp
#define CFRunLoopAddSource RLRunLoopAddSource
#define CFRunLoopAddTimer RLRunLoopAddTimer
#define CFRunLoopSourceCreate RLRunLoopSourceCreate
#define CFRunLoopSourceSignal RLRunLoopSourceSignal
#define CFRunLoopTimerCreate RLRunLoopTimerCreate
#define CFRunLoopTimerInvalidate RLRunLoopTimerInvalidate
#define CFRunLoopTimerSetNextFireDate RLRunLoopTimerSetNextFireDate

#define LIBRARY "runloop"
#define TAKES (ORDINARY | SIGNAL | CALL | WAKE_SPINNING)
enum { MOST_TIMERS = 0, MESSAGE_SIZE = 1 };

static void post_natively(RLRunLoopRef loop, task_function function, void *argument)
{
    CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, function, argument));
}

#include "cf-family.h"

#define HAS_CALL
static void call_and_wait(struct loop *l, task_function function, void *argument)
{
    CHECK(RLRunLoopPerformFunctionAndWait(l->loop, kRLRunLoopDefaultMode, function, argument, 10));
}

#define HAS_SPINNING
static void loop_spin(struct loop *l) { RLRunLoopSetSpinInterval(l->loop, 100e-6); }

static void watched_perform(void *info) { on_readable(((struct watched *)info)->i); }

#include "../scenarios.h"
