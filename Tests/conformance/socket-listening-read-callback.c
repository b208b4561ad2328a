/* Semantics 5: a listening socket with a read callback reports a waiting client; the program accepts it. */
#include "socket.h"

static void accept_it(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    check("accepted", accept(sock->fd, NULL, NULL) >= 0);
}

static void test(void)
{
    static Sock s = {.action = accept_it};
    create_on(&s, listener(AF_UNIX), READ);
    add_to(&s, MODE);
    step("nobody");
    client_of(s.fd, AF_UNIX);
    client_of(s.fd, AF_UNIX);
    step("one");
    step("two");
    step("nobody");
}

int main(void) { return on_thread(test); }
