/*
 * runloop.c -- this project's library, with the same code as CoreFoundation. It runs on the main thread, as the peers
 * do: once a second thread exists, glibc's read and write execute two more locked instructions each. What
 * CoreFoundation lacks: PerformFunctionAndWait ("call"), the spin interval, RLPort ("deliver"), and on Linux
 * CFMessagePort ("ask") and
 *     runloop-descriptor    "chain" and "memory" through RLFileDescriptor, enabled again in each callback
 *     runloop-stream        "echo" through RLStream of librunloop-kit
 */
#include "../loop.h"
#include <RunLoop/RunLoop.h>
#ifdef WITH_KIT
#include <RunLoopKit/RLStream.h>
#endif

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

#ifdef WITH_KIT /* a separate program: process startup is measured with librunloop alone */
#define LIBRARY "runloop-stream"
#define TAKES ECHO_SERVER
#define MORE_VARIANTS
#else
#define LIBRARY "runloop"
#define TAKES (ORDINARY | SIGNAL | CALL | WAKE_SPINNING | ASK | DELIVER)
#define MORE_VARIANTS [DESCRIPTOR] = { LIBRARY "-descriptor", DESCRIPTORS, .own_thread = OWN_THREAD },
#endif
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

#define HAS_ASK
static void ask_prepare(size_t size) { (void)size; }

static RLDataRef ask_echo(RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    (void)port, (void)id, (void)info;
    return RLRetain(data);
}

static void ask_serve(size_t size)
{
    (void)size;
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("ask"), ask_echo, NULL, NULL);
    CHECK(port != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, port, 0), kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

static size_t ask_once(size_t size)
{
    static RLMessagePortRef port;
    static RLDataRef data;
    if (!data)
        data = RLDataCreate(NULL, allocate(1, size), (RLIndex)size);
    while (!port)
        port = RLMessagePortCreateRemote(NULL, RLSTR("ask"));
    RLDataRef reply = NULL;
    CHECK(RLMessagePortSendRequest(port, 1, data, 10, 10, kRLRunLoopDefaultMode, &reply) == kRLMessagePortSuccess);
    size_t length = (size_t)RLDataGetLength(reply);
    RLRelease(reply);
    return length;
}

#define HAS_DELIVER
static RLPortMessageRef delivery;

static void deliver_call(RLPortRef port, RLPortMessageRef message, void *info)
{
    (void)port, (void)message, (void)info;
    on_delivery();
}

static void deliver_init(struct loop *l)
{
    RLPortRef port = RLPortCreate(NULL, deliver_call, NULL, NULL);
    RLRunLoopAddSource(l->loop, RLPortCreateRunLoopSource(NULL, port, 0), kRLRunLoopDefaultMode);
    delivery = RLPortMessageCreate(NULL, port, NULL, NULL);
    CHECK(delivery != NULL);
}

static void deliver_one(struct loop *l)
{
    (void)l;
    CHECK(RLPortMessageSendBeforeDate(delivery, 1e12));
}

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

#ifdef WITH_KIT
#define HAS_ECHO
static void echo_event(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable) {
        CHECK(RLStreamWrite(stream, event->bytes, event->length));
    } else {
        RLStreamClose(stream);
        on_echo_end();
    }
}

static void echo_serve(struct loop *l, const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        RLStreamRef stream = RLStreamCreate(NULL, fds[i], true, echo_event, NULL);
        CHECK(stream != NULL);
        RLRunLoopAddSource(l->loop, stream, kRLRunLoopDefaultMode);
        RLRelease(stream);
    }
    loop_run(l);
}
#endif

#include "../scenarios.h"
