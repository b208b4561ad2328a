/* Semantics 5: a callback may invalidate its socket and release the last references to socket and source. */
#include "socket.h"

static void dispose(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketInvalidate(sock->socket);
    CFRelease(sock->source);
    CFRelease(sock->socket);
    check("open", is_open(sock));
}

static void test(void)
{
    static const CFOptionFlags types[] = {READ, DATA, ACCEPT, WRITE, CONNECT};
    for (int i = 0; i < 5; i++) {
        Sock s = {.action = dispose};
        if (types[i] == ACCEPT) {
            create_on(&s, listener(AF_UNIX), ACCEPT);
            client_of(s.fd, AF_UNIX);
            add_to(&s, MODE);
        } else {
            create_pair(&s, types[i]);
            say(s.far, "abc");
            add_to(&s, MODE);
        }
        step("disposed of");
    }
}

int main(void) { return on_thread(test); }
