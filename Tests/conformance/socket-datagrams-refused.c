/* Semantics 5: a datagram that has no receiver is reported as an error: a read callback, or data of length 0; the
 * socket stays valid. */
#include "socket.h"

static void test(void)
{
    static const CFOptionFlags types[] = {READ, DATA};
    for (int i = 0; i < 2; i++) {
        Sock s = {.takes = 9};
        int gone = bound(AF_INET, SOCK_DGRAM);
        CFDataRef nobody = address_of(gone);
        create_on(&s, socket(AF_INET, SOCK_DGRAM, 0), types[i]);
        note("connect %ld", (long)CFSocketConnectToAddress(s.socket, nobody, 0));
        close(gone);
        require(send(s.fd, "abc", 3, 0) == 3);
        await(s.fd, POLLERR);
        add_to(&s, MODE);
        step(i ? "data" : "read");
        step("once");
        check("valid", CFSocketIsValid(s.socket));
        show("after");
        CFSocketInvalidate(s.socket);
    }
}

int main(void) { return on_thread(test); }
