/* Semantics 5: a data callback that disables itself leaves later bytes in the socket; once enabled again, it
 * receives them. */
#include "socket.h"

static void disable(Sock *sock, CFSocketCallBackType type) { CFSocketDisableCallBacks(sock->socket, type); }

static void test(void)
{
    static Sock s = {.action = disable};
    create_pair(&s, DATA);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("disables itself");
    say(s.far, "de");
    say(s.far, "f");
    step("disabled");
    int waiting = 0;
    ioctl(s.fd, FIONREAD, &waiting);
    note("%d bytes wait", waiting);
    s.action = NULL;
    CFSocketEnableCallBacks(s.socket, DATA);
    step("enabled");
}

int main(void) { return on_thread(test); }
