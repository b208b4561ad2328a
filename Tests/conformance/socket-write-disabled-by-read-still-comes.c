/* Semantics 5: the events of a pass are fixed before its first callback: a write that the read callback disables is
 * still delivered. */
#include "socket.h"

static void disable(Sock *sock, CFSocketCallBackType type)
{
    if (type == READ)
        CFSocketDisableCallBacks(sock->socket, WRITE);
}

static void test(void)
{
    static Sock s = {.takes = 9, .action = disable};
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("both");
    s.action = NULL;
    step("nothing");
    say(s.far, "d");
    step("read only");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("write enabled");
}

int main(void) { return on_thread(test); }
