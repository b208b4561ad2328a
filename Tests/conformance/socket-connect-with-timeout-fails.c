/* Semantics 5: with a positive timeout, or none, a refused connect returns kCFSocketError; the socket stays valid. */
#include "socket.h"

static void test(void)
{
    static const int families[] = {AF_INET, AF_UNIX};
    static const double timeouts[] = {10, 0};
    for (int i = 0; i < 4; i++) {
        CFDataRef silent = address_of(bound(families[i / 2], SOCK_STREAM));
        Sock s = {.socket = NULL};
        create_on(&s, socket(families[i / 2], SOCK_STREAM, 0), CONNECT);
        note("%ld", (long)CFSocketConnectToAddress(s.socket, silent, timeouts[i % 2]));
        check("valid", CFSocketIsValid(s.socket));
        show(i / 2 ? "unix" : "inet");
        CFSocketInvalidate(s.socket);
    }
}

int main(void) { return on_thread(test); }
