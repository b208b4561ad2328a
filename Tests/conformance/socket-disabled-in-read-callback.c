/* Semantics 5: a read callback that disables itself is not repeated, even with the flag, until it is enabled again. */
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
