/* Semantics 5: if a background connect is refused, the connect callback receives the errno value; the socket stays
 * valid. */
#include "socket.h"

static void test(void)
{
    int silent = bound(AF_INET, SOCK_STREAM);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT | WRITE);
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address_of(silent), -1));
    show("connect");
    await(s.fd, POLLHUP);
    add_to(&s, MODE);
    step("refused");
    step("once");
    check("valid", CFSocketIsValid(s.socket));
    check("peer", CFSocketCopyPeerAddress(s.socket) != NULL);
    show("after");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
