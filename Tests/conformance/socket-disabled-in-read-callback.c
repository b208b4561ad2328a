/* Semantics 5: a read callback that disables itself does not come again, even with the flag; enabled, it does. */
#include "socket.h"

static void disable(Sock *sock, CFSocketCallBackType type) { CFSocketDisableCallBacks(sock->socket, type); }

static void test(void)
{
    static Sock s = {.action = disable};
    add_pair(&s, READ);
    say(s.far, "abc");
    step("disables itself");
    step("disabled");
    s.action = NULL;
    CFSocketEnableCallBacks(s.socket, READ);
    step("enabled");
    step("re-enabled by the flag");
}

int main(void) { return on_thread(test); }
