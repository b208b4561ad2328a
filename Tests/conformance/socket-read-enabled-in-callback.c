/* Semantics 5: EnableCallBacks inside the read callback makes it repeat in the next pass, not in this one. */
#include "socket.h"

static void enable(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketEnableCallBacks(sock->socket, READ);
    CFSocketEnableCallBacks(sock->socket, READ);
}

static void test(void)
{
    static Sock s = {.action = enable};
    add_pair(&s, READ);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    step("once");
    step("again");
    s.action = NULL;
    step("and again");
    step("not enabled");
}

int main(void) { return on_thread(test); }
