/* Semantics 3: a timer may be in several modes of its loop; the first one that runs when it is due fires it, once. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"}, idle = {.name = "I"};
    CFRunLoopAddCommonMode(HERE, OTHER);
    CFRunLoopAddSource(HERE, create_source(&idle, 0), COMMON);
    add_timer(&t, -1, 60);
    CFRunLoopAddTimer(HERE, t.timer, OTHER);
    run("other", OTHER, 0, false);
    run("default", MODE, 0, false);
    CFRunLoopTimerSetNextFireDate(t.timer, 0);
    run("default", MODE, 0, false);
    run("other", OTHER, 0, false);
    CFRunLoopTimerInvalidate(t.timer);
    check("default", CFRunLoopContainsTimer(HERE, t.timer, MODE));
    check("other", CFRunLoopContainsTimer(HERE, t.timer, OTHER));
    show("contained after Invalidate");
}

int main(void) { return on_thread(test); }
