/* Semantics 5: without the flag a read callback is made once until it is enabled again; bytes that are left are
 * reported then. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    step("once");
    step("not again");
    say(s.far, "d");
    step("not for more bytes either");
    CFSocketEnableCallBacks(s.socket, READ);
    step("enabled");
    step("once again");
    s.takes = 4;
    CFSocketEnableCallBacks(s.socket, READ);
    step("enabled");
    CFSocketEnableCallBacks(s.socket, READ);
    step("enabled, nothing to read");
    say(s.far, "e");
    step("bytes come later");
}

int main(void) { return on_thread(test); }
