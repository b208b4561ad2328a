/*
 * runloop.c -- this project's library, in the same words as CoreFoundation. On the main thread as the peers: as soon as
 * there is a second one, glibc's read and write execute two locked instructions more each.
 * What CoreFoundation has not: PerformFunctionAndWait ("call"), the spin interval, and on Linux
 *     runloop-descriptor    "chain" and "memory" through RLFileDescriptor, enabled again in each call
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
#define CFDataRef RLDataRef
#define CFSocketRef RLSocketRef
#define CFSocketCallBackType RLSocketCallBackType
#define CFSocketContext RLSocketContext
#define kCFSocketReadCallBack kRLSocketReadCallBack
#define CFSocketCreateWithNative RLSocketCreateWithNative
#define CFSocketCreateRunLoopSource RLSocketCreateRunLoopSource

#define LIBRARY "runloop"
#define TAKES (ORDINARY | SIGNAL | CALL | WAKE_SPINNING)
#define MORE_VARIANTS [DESCRIPTOR] = { LIBRARY "-descriptor", DESCRIPTORS, .own_thread = OWN_THREAD },
enum { MOST_TIMERS = 0, MESSAGE_SIZE = 1, OWN_THREAD = false };

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

static void descriptor_call(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    watched_perform(info);
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

static void add_descriptor(struct loop *l, struct watched *info)
{
    if (chosen != DESCRIPTOR) {
        add_watched(l, info, watched_perform);
        return;
    }
    RLFileDescriptorContext context = { .info = info };
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, info->fd, false, descriptor_call, &context);
    RLRunLoopSourceRef source = f ? RLFileDescriptorCreateRunLoopSource(NULL, f, 0) : NULL;
    CHECK(source != NULL);
    RLRunLoopAddSource(l->loop, source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

#include "../scenarios.h"
