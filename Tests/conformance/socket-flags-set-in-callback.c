/* Semantics 5: the flags after a callback, not before, decide whether it is re-enabled. */
#include "socket.h"

static CFOptionFlags next;

static void set(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketSetSocketFlags(sock->socket, next);
}

static void test(void)
{
    static Sock s = {.action = set};
    add_pair(&s, READ);
    say(s.far, "abc");
    CFSocketSetSocketFlags(s.socket, CLOSES);
    next = CLOSES | READ;
    step("re-enabled by the callback");
    next = CLOSES;
    step("not re-enabled by this one");
    step("nothing");
}

int main(void) { return on_thread(test); }
