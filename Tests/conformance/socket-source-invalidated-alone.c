/* Semantics 5: invalidating only the source leaves the socket valid; the next source is a new one that works. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    say(s.far, "abc");
    step("bytes");
    CFRunLoopSourceInvalidate(s.source);
    check("socket valid", CFSocketIsValid(s.socket));
    check("open", is_open(&s));
    say(s.far, "abc");
    step("source invalid");
    CFRunLoopSourceRef fresh = CFSocketCreateRunLoopSource(NULL, s.socket, 3);
    check("new", fresh != s.source);
    note("order %ld", (long)CFRunLoopSourceGetOrder(fresh));
    CFRelease(s.source);
    s.source = fresh;
    add_to(&s, MODE);
    step("new source");
    CFSocketInvalidate(s.socket);
    check("valid", CFRunLoopSourceIsValid(fresh));
    show("socket invalid");
}

int main(void) { return on_thread(test); }
