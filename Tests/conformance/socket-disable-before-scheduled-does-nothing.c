/* Semantics 5: EnableCallBacks and DisableCallBacks do nothing while the source is in no mode. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    create_pair(&s, READ | WRITE);
    say(s.far, "a");
    CFSocketDisableCallBacks(s.socket, READ | WRITE);
    s.source = CFSocketCreateRunLoopSource(NULL, s.socket, 0);
    CFSocketDisableCallBacks(s.socket, READ | WRITE);
    add_to(&s, MODE);
    step("added");
    step("nothing");
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    say(s.far, "b");
    CFSocketDisableCallBacks(s.socket, READ);
    CFSocketEnableCallBacks(s.socket, WRITE);
    add_to(&s, MODE);
    step("added again");
}

int main(void) { return on_thread(test); }
