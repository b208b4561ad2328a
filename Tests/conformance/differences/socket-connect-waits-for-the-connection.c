/* Difference 13: the connect callback is made once the connection is established, even if the source was added
 * before (CF makes it immediately, because an unconnected socket polls as writable). */
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
