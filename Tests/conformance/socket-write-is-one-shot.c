/* Semantics 5: a write callback is made once; it is repeated only if it is enabled again and there is room. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, WRITE);
    step("room");
    step("once");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("enabled");
    step("once");
}

int main(void) { return on_thread(test); }
