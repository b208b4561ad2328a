/* Semantics 5: the loop retains source and socket: after all references are released, callbacks are still made. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    CFRelease(s.source);
    CFRelease(s.socket);
    say(s.far, "abc");
    step("bytes");
    say(s.far, "abc");
    step("bytes");
    CFSocketInvalidate(s.socket);
    step("invalid");
}

int main(void) { return on_thread(test); }
