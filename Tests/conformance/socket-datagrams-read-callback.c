/* Semantics 5: for datagrams the read callback is repeated while one is available; each is read whole. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 99};
    make_pair(&s, SOCK_DGRAM);
    create_on(&s, s.fd, READ | WRITE);
    say(s.far, "abc");
    say(s.far, "de");
    add_to(&s, MODE);
    step("first, and room");
    step("second");
    step("none");
}

int main(void) { return on_thread(test); }
