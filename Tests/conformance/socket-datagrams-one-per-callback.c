/* Semantics 5: each datagram has its own data callback, even an empty one, which does not invalidate the socket. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    make_pair(&s, SOCK_DGRAM);
    create_on(&s, s.fd, DATA);
    say(s.far, "abc");
    say(s.far, "de");
    require(send(s.far, "", 0, 0) == 0);
    say(s.far, "f");
    add_to(&s, MODE);
    step("first");
    step("second");
    step("third");
    step("fourth");
    step("none");
    check("valid", CFSocketIsValid(s.socket));
    say(s.far, "ghij");
    step("one more");
}

int main(void) { return on_thread(test); }
