/* Semantics 5: a socket that is enabled in its callback is called back by a run nested in that callback. */
#include "socket.h"

static void nest(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    if (sock->calls < 3) {
        CFSocketEnableCallBacks(sock->socket, READ);
        settle();
        run_nested(MODE, 0, true);
    }
}

static void test(void)
{
    static Sock s = {.action = nest};
    add_pair(&s, READ);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    step("nested");
    step("not enabled");
}

int main(void) { return on_thread(test); }
