/* Semantics 5: a connection reset by the peer causes a read callback in which recv() returns the error, then one for
 * the end. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.far = client_of(listening, AF_INET), .takes = 9};
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    create_on(&s, accept(listening, NULL, NULL), READ);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    require(setsockopt(s.far, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    close(s.far);
    await(s.fd, POLLHUP);
    add_to(&s, MODE);
    step("reset");
    step("not enabled");
    CFSocketEnableCallBacks(s.socket, READ);
    step("end");
    check("valid", CFSocketIsValid(s.socket));
    show("after");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
