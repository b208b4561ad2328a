/* Semantics 5: an existing socket that was bound can be connected; a second connect fails. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), READ);
    CFDataRef address = address_of(listening), any = inet_address(0), empty = CFDataCreate(NULL, NULL, 0);
    require(bind(s.fd, (const struct sockaddr *)CFDataGetBytePtr(any), (socklen_t)CFDataGetLength(any)) == 0);
    note("empty %ld", (long)CFSocketConnectToAddress(s.socket, empty, 1));
    note("first %ld", (long)CFSocketConnectToAddress(s.socket, address, 0));
    note("second %ld", (long)CFSocketConnectToAddress(s.socket, address, 0));
    check("valid", CFSocketIsValid(s.socket));
    CFSocketInvalidate(s.socket);
    note("invalid %ld", (long)CFSocketConnectToAddress(s.socket, address, 10));
    show("connect");
}

int main(void) { return on_thread(test); }
