/* Semantics 5: a read callback that invalidates the socket takes the write callback of the same pass with it. */
#include "socket.h"

static void invalidate(Sock *sock, CFSocketCallBackType type)
{
    if (type == READ)
        CFSocketInvalidate(sock->socket);
}

static void test(void)
{
    static Sock s = {.action = invalidate};
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("both ready");
    check("valid", CFSocketIsValid(s.socket));
    step("nothing is left");
}

int main(void) { return on_thread(test); }
