/* Semantics 5: a connect callback that invalidates the socket takes the read and write callbacks of the pass with
 * it. */
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
