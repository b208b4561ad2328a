/* Semantics 5: the first mode a source is added to enables all its callbacks; a further mode changes nothing. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ | WRITE);
    step("write");
    CFSocketDisableCallBacks(s.socket, READ | WRITE);
    say(s.far, "a");
    step("disabled");
    add_to(&s, OTHER);
    step("in a second mode as well");
    CFRunLoopRemoveSource(HERE, s.source, OTHER);
    step("removed from it");
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    step("removed from both");
    add_to(&s, MODE);
    step("added again");
    step("once");
}

int main(void) { return on_thread(test); }
