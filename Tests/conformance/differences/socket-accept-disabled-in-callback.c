/* Difference 14: a callback disabled within itself stays disabled, even accept (CF enables accept again because of
 * its flag). */
#include "../socket.h"

static void disable(Sock *sock, CFSocketCallBackType type)
{
    sock->action = NULL;
    CFSocketDisableCallBacks(sock->socket, type);
}

static void test(void)
{
    static Sock s = {.action = disable};
    create_on(&s, listener(AF_UNIX), ACCEPT);
    add_to(&s, MODE);
    client_of(s.fd, AF_UNIX);
    step("disables itself");
    client_of(s.fd, AF_UNIX);
    step("disabled");
    CFSocketEnableCallBacks(s.socket, ACCEPT);
    step("enabled");
    step("nobody waits");
}

int main(void) { return on_thread(test); }
