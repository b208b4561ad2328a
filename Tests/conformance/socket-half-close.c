/* Semantics 5: if the peer shuts down its sending side, reading reaches the end, and writing still works. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ | WRITE);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    step("write");
    shutdown(s.far, SHUT_WR);
    step("end");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("write enabled");
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
    note("send %ld", (long)CFSocketSendData(s.socket, NULL, data, 0));
    take(s.far, 99);
    show("sent");
}

int main(void) { return on_thread(test); }
