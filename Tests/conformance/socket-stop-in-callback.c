/* Semantics 5: Stop in a callback: Stopped, or HandledSource for a run that returns after a source. */
#include "socket.h"

static void stop_it(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock s = {.takes = 1, .action = stop_it};
    add_pair(&s, READ);
    say(s.far, "abc");
    run("going on", MODE, AGES, false);
    run("returning", MODE, AGES, true);
    check("one byte left", recv(s.fd, &(char){0}, 1, MSG_DONTWAIT) == 1);
    show("after");
}

int main(void) { return on_thread(test); }
