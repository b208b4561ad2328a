/* Semantics 5: without the flag one client is accepted, and the next one waits until accept is enabled again. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_on(&s, listener(AF_UNIX), ACCEPT);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    client_of(s.fd, AF_UNIX);
    client_of(s.fd, AF_UNIX);
    add_to(&s, MODE);
    step("first");
    step("second waits");
    CFSocketEnableCallBacks(s.socket, ACCEPT);
    step("second");
    CFSocketDisableCallBacks(s.socket, ACCEPT);
    client_of(s.fd, AF_UNIX);
    step("third waits");
    CFSocketEnableCallBacks(s.socket, ACCEPT);
    step("third");
}

int main(void) { return on_thread(test); }
