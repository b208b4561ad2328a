/* Semantics 5: of two ready sockets, the one that is called first invalidates the other, which is then not called. */
#include "socket.h"

static Sock sockets[2];

static void invalidate_other(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketInvalidate(sockets[sock == &sockets[0]].socket);
}

static void test(void)
{
    sockets[0].action = sockets[1].action = invalidate_other;
    for (int i = 0; i < 2; i++) {
        add_pair(&sockets[i], READ);
        say(sockets[i].far, "abc");
    }
    settle();
    run("both ready", MODE, 0, false);
    note("%d called, %d valid", (sockets[0].calls > 0) + (sockets[1].calls > 0),
         CFSocketIsValid(sockets[0].socket) + CFSocketIsValid(sockets[1].socket));
    show("after");
}

int main(void) { return on_thread(test); }
