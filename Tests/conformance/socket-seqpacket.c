/* Semantics 5: each message of a SOCK_SEQPACKET socket has its own data callback. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    make_pair(&s, SOCK_SEQPACKET);
    create_on(&s, s.fd, DATA);
    say(s.far, "abc");
    say(s.far, "de");
    add_to(&s, MODE);
    step("first");
    step("second");
    step("none");
}

int main(void) { return on_thread(test); }
