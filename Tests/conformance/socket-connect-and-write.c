/* Semantics 5: an established connection causes a connect callback and, in the same pass, a write callback. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT | WRITE);
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address_of(listening), -1));
    await(s.fd, POLLOUT);
    add_to(&s, MODE);
    step("connected");
    step("once");
    CFSocketEnableCallBacks(s.socket, CONNECT | WRITE);
    step("both enabled");
    step("once");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
