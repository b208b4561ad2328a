/* Semantics 5: two sockets on two descriptors for one connection are both called back. */
#include "socket.h"

static void test(void)
{
    static Sock a, b;
    add_pair(&a, READ);
    create_on(&b, dup(a.fd), READ);
    add_to(&b, MODE);
    CFSocketSetSocketFlags(a.socket, CLOSES);
    CFSocketSetSocketFlags(b.socket, CLOSES);
    check("two", a.socket != b.socket);
    say(a.far, "abc");
    step("one");
    step("the other");
    step("none");
    note("%d %d", a.calls, b.calls);
    CFSocketInvalidate(a.socket);
    CFSocketEnableCallBacks(b.socket, READ);
    step("one is closed");
    note("%d", b.calls);
    show("calls");
}

int main(void) { return on_thread(test); }
