/* Semantics 5: a positive timeout waits for the connection; the connect callback is still made. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT);
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address_of(listening), AGES));
    check("peer", CFSocketCopyPeerAddress(s.socket) != NULL);
    show("connect");
    add_to(&s, MODE);
    step("connected");
    step("once");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
