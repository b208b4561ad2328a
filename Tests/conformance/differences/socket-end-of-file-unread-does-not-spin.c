/* Difference 9: a read callback that does not read is repeated while bytes are left, but the end is reported only
 * once (CF: in every pass). */
#include "../socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ);
    say(s.far, "abc");
    close(s.far);
    step("bytes");
    step("bytes");
    s.takes = 3;
    step("bytes");
    s.takes = 0;
    step("end");
    step("after the end");
}

int main(void) { return on_thread(test); }
