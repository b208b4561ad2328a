/* Semantics 5: what CF tolerates: unknown bits in Enable and Disable, sources and flags of invalid sockets, NULL for
 * GetNative. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ | WRITE);
    CFSocketDisableCallBacks(s.socket, ~(CFOptionFlags)0);
    CFSocketEnableCallBacks(s.socket, ~(CFOptionFlags)0);
    say(s.far, "abc");
    step("all bits");
    note("%d", CFSocketGetNative(NULL));
    show("no socket");
    CFSocketInvalidate(s.socket);
    CFSocketInvalidate(s.socket);
    CFSocketEnableCallBacks(s.socket, ~(CFOptionFlags)0);
    CFSocketDisableCallBacks(s.socket, ~(CFOptionFlags)0);
    CFRunLoopAddSource(HERE, s.source, MODE);
    CFRunLoopSourceInvalidate(s.source);
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"a", 1);
    CFSocketContext context = {0};
    CFSocketGetContext(s.socket, &context);
    note("send %ld set %ld connect %ld", (long)CFSocketSendData(s.socket, NULL, data, 0),
         (long)CFSocketSetAddress(s.socket, data), (long)CFSocketConnectToAddress(s.socket, data, 0));
    check("info", context.info != NULL);
    show("invalid");
    step("empty");
}

int main(void) { return on_thread(test); }
