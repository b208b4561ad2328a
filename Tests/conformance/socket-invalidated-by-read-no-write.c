/* Semantics 5: if a read callback invalidates the socket, the write callback of the same pass is not made. */
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
