/* Semantics 5: a socket that is already connected gets its connect callback, too, once, even if its source is added
 * again. */
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
