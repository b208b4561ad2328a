/* Semantics 5: a write callback waits until the peer has made room. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_pair(&s, WRITE);
    fill(s.fd);
    add_to(&s, MODE);
    step("no room");
    drain(s.far);
    step("room");
    step("once");
    fill(s.fd);
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("enabled, no room");
    drain(s.far);
    step("room");
}

int main(void) { return on_thread(test); }
