/* Semantics 3: a timer invalidated in its own callback leaves every mode immediately, and does not fire again. */
#include "trace.h"

static void die(Item *item)
{
    CFRunLoopTimerInvalidate(item->timer);
    check("valid", CFRunLoopTimerIsValid(item->timer));
    check("contained", CFRunLoopContainsTimer(HERE, item->timer, OTHER));
    check("date 0", CFRunLoopTimerGetNextFireDate(item->timer) == 0);
}

static void test(void)
{
    static Item t = {.name = "T", .action = die}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_timer(&t, -1, 0.01);
    CFRunLoopAddTimer(HERE, t.timer, OTHER);
    run("run", MODE, 0.1, false);
    CFRunLoopTimerSetNextFireDate(t.timer, 0);
    run("date set afterwards", MODE, 0, false);
}

int main(void) { return on_thread(test); }
