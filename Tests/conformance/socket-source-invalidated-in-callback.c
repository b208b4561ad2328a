/* Semantics 5: if a read callback invalidates its source, no further callbacks follow, but the pass continues, and
 * the socket stays valid. */
#include "socket.h"

static void invalidate(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFRunLoopSourceInvalidate(sock->source);
}

static void test(void)
{
    static Sock s = {.action = invalidate};
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("invalidates its source");
    step("no source");
    check("valid", CFSocketIsValid(s.socket));
    check("open", is_open(&s));
    CFRelease(s.source);
    s.source = NULL;
    s.action = NULL;
    s.takes = 9;
    add_to(&s, MODE);
    step("a new source");
}

int main(void) { return on_thread(test); }
