/* Semantics 5: the loop keeps source and socket: with all references released the callbacks still come. */
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
