/* Semantics 5: a number that is not an open descriptor makes a valid socket; -1 makes one that is never valid. */
#include "socket.h"

static void test(void)
{
    CFSocketRef bad = CFSocketCreateWithNative(NULL, 999, READ, sock_called, NULL);
    check("999", bad != NULL && CFSocketIsValid(bad));
    note("native %d", CFSocketGetNative(bad));
    check("address", CFSocketCopyAddress(bad) != NULL);
    check("source", CFSocketCreateRunLoopSource(NULL, bad, 0) != NULL);
    CFSocketInvalidate(bad);
    check("invalidated", !CFSocketIsValid(bad));
    show("bad");
    CFSocketRef none = CFSocketCreateWithNative(NULL, -1, READ, sock_called, NULL);
    check("-1", none != NULL);
    check("valid", CFSocketIsValid(none));
    note("native %d flags %#lx", CFSocketGetNative(none), (unsigned long)CFSocketGetSocketFlags(none));
    check("source", CFSocketCreateRunLoopSource(NULL, none, 0) != NULL);
    CFSocketInvalidate(none);
    CFRelease(none);
    show("none");
    note("%d", CFSocketGetNative(NULL));
    show("NULL");
}

int main(void) { return on_thread(test); }
