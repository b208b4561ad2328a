/* Semantics 5: a socket whose descriptor number belonged to an invalid socket receives none of that one's events. */
#include "socket.h"

static void test(void)
{
    static Sock old = {.name = "old "}, fresh = {.name = "new ", .takes = 9};
    add_pair(&old, READ | WRITE);
    say(old.far, "abc");
    settle();
    CFSocketInvalidate(old.socket);
    add_pair(&fresh, READ);
    check("same number", fresh.fd == old.fd);
    check("other socket", fresh.socket != old.socket);
    step("nothing to read");
    say(fresh.far, "abc");
    step("bytes");
    step("none");
}

int main(void) { return on_thread(test); }
