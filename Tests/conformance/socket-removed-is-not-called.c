/* Semantics 5: a ready socket whose source is removed is not called; after the source is added again, it is. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    static Item keeper = {.name = "keeper"};
    add_source(&keeper, 0);
    add_pair(&s, READ);
    say(s.far, "abc");
    settle();
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    step("removed");
    check("valid", CFSocketIsValid(s.socket) && CFRunLoopSourceIsValid(s.source));
    add_to(&s, MODE);
    step("added");
    step("none");
}

int main(void) { return on_thread(test); }
