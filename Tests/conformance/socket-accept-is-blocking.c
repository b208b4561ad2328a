/* Semantics 5: an accepted descriptor is blocking, whether or not the listening one is; no callback is made without
 * a client. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_on(&s, listener(AF_UNIX), ACCEPT);
    fcntl(s.fd, F_SETFL, O_NONBLOCK);
    client_of(s.fd, AF_UNIX);
    add_to(&s, MODE);
    step("accept");
    check("listening blocks", !(fcntl(s.fd, F_GETFL) & O_NONBLOCK));
    check("accepted blocks", !(fcntl(s.accepted, F_GETFL) & O_NONBLOCK));
    step("nobody waits");
}

int main(void) { return on_thread(test); }
