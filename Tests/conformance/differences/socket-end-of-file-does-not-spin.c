/* Difference 9: at the end of the stream the read callback is made once more; afterwards the flag alone does not
 * repeat it, only enabling it does (CF: in every pass). */
#include "../socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    say(s.far, "abc");
    close(s.far);
    step("bytes");
    step("end");
    step("after the end");
    CFSocketEnableCallBacks(s.socket, READ);
    step("enabled");
    step("after the end");
    check("valid", CFSocketIsValid(s.socket));
    show("socket");
}

int main(void) { return on_thread(test); }
