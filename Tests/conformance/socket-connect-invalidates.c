/* Semantics 5: if a connect callback invalidates the socket, the read and write callbacks of the pass are not made. */
#include "socket.h"

static void invalidate(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketInvalidate(sock->socket);
}

static void test(void)
{
    static Sock s = {.action = invalidate};
    create_pair(&s, CONNECT | READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("all ready");
    step("nothing is left");
}

int main(void) { return on_thread(test); }
