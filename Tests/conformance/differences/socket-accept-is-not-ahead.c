/* Difference 7: a client is accepted when its callback is made (CF accepts immediately, and leaks the descriptor if
 * the socket is then invalidated). */
#include "../socket.h"

static void test(void)
{
    static Sock s;
    create_on(&s, listener(AF_UNIX), ACCEPT);
    add_to(&s, MODE);
    int client = client_of(s.fd, AF_UNIX);
    settle();
    CFSocketInvalidate(s.socket);
    check("client is left hanging", recv(client, &(char){0}, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    show("client");
}

int main(void) { return on_thread(test); }
