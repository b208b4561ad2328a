/* Semantics 5: with kCFSocketCloseOnInvalidate cleared the descriptor stays open and usable. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ);
    CFSocketSetSocketFlags(s.socket, CFSocketGetSocketFlags(s.socket) & ~(CFOptionFlags)CLOSES);
    CFSocketInvalidate(s.socket);
    check("valid", CFSocketIsValid(s.socket));
    check("open", is_open(&s));
    note("native %d", CFSocketGetNative(s.socket));
    say(s.far, "abc");
    take(s.fd, 9);
    say(s.fd, "abc");
    take(s.far, 9);
    show("descriptor");
    step("empty");
}

int main(void) { return on_thread(test); }
