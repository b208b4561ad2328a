/* Semantics 5: if a callback invalidates its socket, the last one of the mode, the run is Finished or HandledSource. */
#include "socket.h"

static void invalidate(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketInvalidate(sock->socket);
    check("valid", CFSocketIsValid(sock->socket));
}

static void test(void)
{
    for (int i = 0; i < 2; i++) {
        Sock s = {.action = invalidate};
        add_pair(&s, READ);
        say(s.far, "abc");
        settle();
        run(i ? "returning" : "going on", MODE, AGES, i);
        check("valid", CFSocketIsValid(s.socket));
        check("open", is_open(&s));
        show("after");
    }
}

int main(void) { return on_thread(test); }
