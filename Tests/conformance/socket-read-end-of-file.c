/* Semantics 5: the end of the stream is a read callback with nothing to read; it is repeated if enabled explicitly. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    close(s.far);
    step("bytes");
    step("not enabled");
    CFSocketEnableCallBacks(s.socket, READ);
    step("end");
    step("not enabled");
    CFSocketEnableCallBacks(s.socket, READ);
    step("end again");
    check("valid", CFSocketIsValid(s.socket));
    show("after");
}

int main(void) { return on_thread(test); }
