/* Difference 7: a callback is made for what is ready and enabled now (CF also makes it for what its thread noticed
 * earlier: bytes that have been read since, a type that has been disabled since). */
#include "../socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    say(s.far, "abc");
    settle();
    take(s.fd, 9);
    show("read behind its back");
    run("nothing to read", MODE, 0, true);
    say(s.far, "abc");
    settle();
    CFSocketDisableCallBacks(s.socket, READ);
    run("disabled", MODE, 0, true);
}

int main(void) { return on_thread(test); }
