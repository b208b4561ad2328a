/* all-callbacks.c - calls one callback of each kind, which prints its kind, its address and its first argument. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static void print(int kind, const void *function, const void *first)
{
    char line[100];
    int length = snprintf(line, sizeof line, "called %d %p %p\n", kind, function, first);
    static int count;
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(1);
    if (++count == 9) /* all except the invalidation callback */
        RLRunLoopStop(RLRunLoopGetCurrent());
}
#define PRINT(kind, function, first) print(kind, (const void *)(function), (const void *)(first))

static void perform(void *info) { PRINT(1, perform, info); }
static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)info;
    PRINT(2, tick, timer);
}
static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)activity, (void)info;
    PRINT(3, observe, observer);
}
static void post(void *info) { PRINT(4, post, info); }
static void readDescriptor(RLFileDescriptorRef descriptor, RLOptionFlags types, void *info)
{
    (void)types, (void)info;
    PRINT(5, readDescriptor, descriptor);
}
static void readSocket(RLSocketRef socket, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)data, (void)info;
    PRINT(6, readSocket, socket);
    RLSocketInvalidate(socket);
}
static void receive(RLPortRef port, RLPortMessageRef message, void *info)
{
    (void)message, (void)info;
    PRINT(7, receive, port);
}
static RLDataRef answer(RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    (void)id, (void)data, (void)info;
    PRINT(8, answer, port);
    return NULL;
}
static void takeReply(RLMessagePortRef port, int32_t result, RLDataRef data, void *info)
{
    (void)result, (void)data, (void)info;
    PRINT(9, takeReply, port);
}
static void invalidated(RLPortRef port, void *info)
{
    (void)info;
    PRINT(10, invalidated, port);
}

int main(void)
{
    int ends[2], info;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {.info = &info, .perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[0], "x", 1) != 1 || write(ends[1], "x", 1) != 1)
        return 1;
    RLRunLoopAddSource(loop, source, MODE);
    RLRunLoopSourceSignal(source);
    RLRunLoopAddTimer(loop, RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, tick, NULL), MODE);
    RLRunLoopAddObserver(loop, RLRunLoopObserverCreate(NULL, kRLRunLoopEntry, 0, 0, observe, NULL), MODE);
    RLRunLoopPostFunction(loop, MODE, post, &ends);
    RLFileDescriptorRef descriptor = RLFileDescriptorCreate(NULL, ends[0], 0, readDescriptor, NULL);
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
    RLRunLoopAddSource(loop, RLFileDescriptorCreateRunLoopSource(NULL, descriptor, 0), MODE);
    RLSocketRef socket = RLSocketCreateWithNative(NULL, ends[1], kRLSocketReadCallBack, readSocket, NULL);
    RLRunLoopAddSource(loop, RLSocketCreateRunLoopSource(NULL, socket, 0), MODE);
    RLPortRef port = RLPortCreate(NULL, receive, NULL, NULL);
    RLPortSetInvalidationCallBack(port, invalidated);
    RLRunLoopAddSource(loop, RLPortCreateRunLoopSource(NULL, port, 0), MODE);
    RLPortMessageSendBeforeDate(RLPortMessageCreate(NULL, port, NULL, NULL), 0);
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, NULL, answer, NULL, NULL);
    RLMessagePortSetName(local, RLSTR("all-callbacks"));
    RLRunLoopAddSource(loop, RLMessagePortCreateRunLoopSource(NULL, local, 0), MODE);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("all-callbacks"));
    RLMessagePortSendRequestAsync(remote, 1, NULL, 10, 10, MODE, takeReply, NULL);
    RLRunLoopRun();
    RLPortInvalidate(port);
    return 0;
}
