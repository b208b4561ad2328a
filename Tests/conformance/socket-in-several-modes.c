/* Semantics 5: a socket in several modes is called in each of them, once per event. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    add_pair(&s, READ | WRITE);
    add_to(&s, OTHER);
    say(s.far, "abc");
    step_in(OTHER, "other");
    step("default");
    say(s.far, "abc");
    step("default");
    step_in(OTHER, "other");
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    say(s.far, "abc");
    step("removed from default");
    step_in(OTHER, "other");
    check("in other", CFRunLoopContainsSource(HERE, s.source, OTHER));
    check("in default", CFRunLoopContainsSource(HERE, s.source, MODE));
    show("modes");
}

int main(void) { return on_thread(test); }
