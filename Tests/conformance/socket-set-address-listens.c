/* Semantics 5: SetAddress makes a stream socket listen; a datagram socket, which cannot listen, is only bound. */
#include "socket.h"

static void test(void)
{
    CFSocketContext context = {0};
    Sock s = {.socket = NULL};
    context.info = &s;
    s.socket = CFSocketCreate(NULL, PF_UNIX, SOCK_STREAM, 0, ACCEPT, sock_called, &context);
    s.fd = CFSocketGetNative(s.socket);
    note("%ld", (long)CFSocketSetAddress(s.socket, unix_address()));
    client_of(s.fd, AF_UNIX);
    add_to(&s, MODE);
    step("stream");
    CFSocketRef datagrams = CFSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, READ, NULL, NULL);
    note("%ld", (long)CFSocketSetAddress(datagrams, inet_address(0)));
    check("address", CFSocketCopyAddress(datagrams) != NULL);
    show("datagrams");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
