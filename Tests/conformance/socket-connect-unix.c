/* Semantics 5: an AF_UNIX connect succeeds or fails immediately, whatever the timeout. */
#include "socket.h"

static void test(void)
{
    static const double timeouts[] = {-1, 0, 10};
    int listening = listener(AF_UNIX);
    CFDataRef served = address_of(listening), silent = address_of(bound(AF_UNIX, SOCK_STREAM));
    for (int i = 0; i < 3; i++) {
        Sock s = {.socket = NULL}, refused = {.socket = NULL};
        create_on(&s, socket(AF_UNIX, SOCK_STREAM, 0), CONNECT);
        create_on(&refused, socket(AF_UNIX, SOCK_STREAM, 0), CONNECT);
        note("%ld refused %ld", (long)CFSocketConnectToAddress(s.socket, served, timeouts[i]),
             (long)CFSocketConnectToAddress(refused.socket, silent, timeouts[i]));
        check("valid", CFSocketIsValid(refused.socket));
        add_to(&s, MODE);
        step("connected");
        step("once");
        CFSocketInvalidate(s.socket);
        CFSocketInvalidate(refused.socket);
    }
}

int main(void) { return on_thread(test); }
