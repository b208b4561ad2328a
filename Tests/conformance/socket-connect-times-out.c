/* Semantics 5: if the peer does not answer within the timeout, the result is kCFSocketTimeout; the socket stays
 * valid. */
#include "socket.h"

static void test(void)
{
    int full = bound(AF_INET, SOCK_STREAM);
    require(listen(full, 0) == 0);
    CFDataRef address = address_of(full);
    for (int i = 0; i < 3; i++) { /* the backlog holds one or two clients; then the kernel drops further ones */
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fd, (const struct sockaddr *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address));
    }
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT);
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address, SOON));
    check("valid", CFSocketIsValid(s.socket));
    show("connect");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
