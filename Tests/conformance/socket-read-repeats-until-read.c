/* Semantics 5: a read callback is repeated in each pass while bytes are left, and not when none is. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ);
    step("nothing to read");
    say(s.far, "abc");
    step("three bytes");
    s.takes = 1;
    step("still three");
    s.takes = 2;
    step("two");
    step("none");
    say(s.far, "d");
    step("one more");
    step("none");
}

int main(void) { return on_thread(test); }
