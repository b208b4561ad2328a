/* Semantics 5: a negative timeout returns immediately; the connect callback is made once, with NULL for success. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT);
    CFDataRef address = address_of(listening);
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address, -1));
    show("connect");
    await(s.fd, POLLOUT);
    add_to(&s, MODE);
    step("connected");
    step("once");
    CFSocketEnableCallBacks(s.socket, CONNECT);
    step("enabled");
    CFDataRef peer = CFSocketCopyPeerAddress(s.socket);
    check("peer", CFEqual(peer, address));
    show("address");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
