/* Semantics 5: the connect, read or data, and write callbacks are made in this order, in one pass. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9}, d;
    create_pair(&s, CONNECT | READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("with read");
    step("once");
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    create_pair(&d, CONNECT | DATA | WRITE);
    say(d.far, "abc");
    add_to(&d, MODE);
    step("with data");
    step("once");
}

int main(void) { return on_thread(test); }
