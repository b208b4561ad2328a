/* Semantics 5: Invalidate closes the descriptor, removes the source from the loop, and makes both invalid
 * permanently. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ | WRITE);
    add_to(&s, OTHER);
    CFSocketInvalidate(s.socket);
    check("valid", CFSocketIsValid(s.socket));
    check("open", is_open(&s));
    note("native %d", CFSocketGetNative(s.socket));
    check("source valid", CFRunLoopSourceIsValid(s.source));
    check("in mode", CFRunLoopContainsSource(HERE, s.source, MODE));
    check("in other", CFRunLoopContainsSource(HERE, s.source, OTHER));
    show("socket");
    CFSocketInvalidate(s.socket);
    CFSocketEnableCallBacks(s.socket, READ | WRITE);
    CFSocketDisableCallBacks(s.socket, READ | WRITE);
    CFRunLoopAddSource(HERE, s.source, MODE);
    step("empty");
    note("peer sees %zd", read(s.far, &(char){0}, 1));
    show("end");
}

int main(void) { return on_thread(test); }
