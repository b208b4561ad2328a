/* Semantics 5: a connection reset by the peer ends like one that is closed: data of length 0, then the socket is
 * invalid. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.far = client_of(listening, AF_INET)};
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    create_on(&s, accept(listening, NULL, NULL), DATA);
    require(setsockopt(s.far, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    close(s.far);
    await(s.fd, POLLIN);
    add_to(&s, MODE);
    step("reset");
    check("valid", CFSocketIsValid(s.socket));
    check("open", is_open(&s));
    show("after");
}

int main(void) { return on_thread(test); }
