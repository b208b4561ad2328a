/* Semantics 5: a socket on a descriptor number that an invalid one had gets none of the events of that. */
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
