/* Semantics 5: a socket in the common modes is called in each of them, even in one that becomes common later. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ);
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    add_to(&s, COMMON);
    say(s.far, "abc");
    step("default");
    say(s.far, "abc");
    step_in(OTHER, "other, not common");
    CFRunLoopAddCommonMode(HERE, OTHER);
    step_in(OTHER, "other, common");
    CFRunLoopRemoveSource(HERE, s.source, COMMON);
    say(s.far, "abc");
    step_in(OTHER, "removed");
    step("removed");
}

int main(void) { return on_thread(test); }
