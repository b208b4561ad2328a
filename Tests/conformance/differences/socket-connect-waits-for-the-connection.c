/* Difference 13: a connect callback is made when the connection is, also if the source is in the loop before (CF
 * makes it at once, because an unconnected socket polls as writable). */
#include "../socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT);
    add_to(&s, MODE);
    step("not connected");
    note("%ld", (long)CFSocketConnectToAddress(s.socket, address_of(listening), -1));
    await(s.fd, POLLOUT);
    step("connected");
    step("once");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
