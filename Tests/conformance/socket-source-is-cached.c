/* Semantics 5: each call returns the same source, with the order of the first call; for an invalid socket it returns
 * none. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_pair(&s, READ);
    CFRunLoopSourceRef first = CFSocketCreateRunLoopSource(NULL, s.socket, 7);
    CFRunLoopSourceRef second = CFSocketCreateRunLoopSource(NULL, s.socket, 9);
    check("same", first == second);
    note("order %ld", (long)CFRunLoopSourceGetOrder(second));
    check("valid", CFRunLoopSourceIsValid(first));
    check("type", CFGetTypeID(first) == CFRunLoopSourceGetTypeID());
    show("source");
    CFRelease(first);
    CFRelease(second);
    CFRunLoopSourceRef third = CFSocketCreateRunLoopSource(NULL, s.socket, 9);
    note("order %ld", (long)CFRunLoopSourceGetOrder(third));
    show("after release");
    CFSocketInvalidate(s.socket);
    check("valid", CFRunLoopSourceIsValid(third));
    check("another", CFSocketCreateRunLoopSource(NULL, s.socket, 9) != NULL);
    show("invalid");
}

int main(void) { return on_thread(test); }
