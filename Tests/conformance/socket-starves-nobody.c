/* Semantics 5: a socket that is always writable does not keep timers and version-0 sources from being called. */
#include "socket.h"

static int calls;
static CFRunLoopSourceRef source;

static void count(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type, (void)address, (void)data, (void)info;
    calls++;
}

static void signal_it(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(source);
    CFRunLoopWakeUp(HERE);
}

static void test(void)
{
    static Sock s;
    static Item t = {.action = signal_it}, v = {.name = "source", .action = stop};
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, WRITE, count, NULL);
    CFSocketSetSocketFlags(s.socket, CLOSES | WRITE);
    add_to(&s, MODE);
    source = add_source(&v, 0);
    add_timer(&t, SOON, 0);
    run("always writable", MODE, AGES, false);
    check("called often", calls > 10);
    check("timer", t.calls == 1);
    show("calls");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
