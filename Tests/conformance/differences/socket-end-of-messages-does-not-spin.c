/* Difference 9: the end of a SOCK_SEQPACKET connection is one data callback of length 0 (CF: one in every pass). */
#include "../socket.h"

static void test(void)
{
    static Sock s;
    static Item keeper = {.name = "keeper"};
    add_source(&keeper, 0);
    make_pair(&s, SOCK_SEQPACKET);
    create_on(&s, s.fd, DATA);
    add_to(&s, MODE);
    say(s.far, "abc");
    close(s.far);
    step("message");
    step("end");
    step("after the end");
}

int main(void) { return on_thread(test); }
