/* Semantics 5: if a socket is readable and writable, the read callback is first, and the write callback is in the
 * same pass. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("both");
    s.takes = 3;
    step("bytes are left");
    step("none is left");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("write enabled");
    say(s.far, "d");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("both");
}

int main(void) { return on_thread(test); }
