/* Semantics 5: a socket that is connected already has its connect callback too, once: also after its source was
 * added again. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, CONNECT);
    step("connected");
    step("once");
    CFSocketEnableCallBacks(s.socket, CONNECT);
    step("enabled");
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    add_to(&s, MODE);
    step("added again");
}

int main(void) { return on_thread(test); }
