/* Semantics 5: what a server does: its accept callback creates a socket for the client and adds it to the loop. */
#include "socket.h"

static void serve(Sock *sock, CFSocketCallBackType type)
{
    static Sock peer = {.name = "peer "};
    (void)type;
    create_on(&peer, sock->accepted, DATA);
    add_to(&peer, MODE);
}

static void test(void)
{
    static Sock server = {.action = serve};
    create_on(&server, listener(AF_UNIX), ACCEPT);
    add_to(&server, MODE);
    int client = client_of(server.fd, AF_UNIX);
    say(client, "hello");
    step("accept");
    step("data");
    close(client);
    step("end");
    step("nothing");
}

int main(void) { return on_thread(test); }
