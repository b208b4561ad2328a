/* Semantics 5: a write callback comes once; it comes again when it is enabled and there is room. */
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
