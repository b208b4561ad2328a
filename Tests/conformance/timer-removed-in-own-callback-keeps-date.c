/* Semantics 3: a repeating timer removed in its callback stays valid, gets its next date, and fires when it is added
 * again. */
#include "trace.h"

static void leave(Item *item)
{
    CFRunLoopRemoveTimer(HERE, item->timer, MODE);
    check("valid", CFRunLoopTimerIsValid(item->timer));
}

static void test(void)
{
    static Item t = {.name = "T", .action = leave};
    add_timer(&t, -1, 60);
    run("removed", MODE, 0, false);
    check("next is ahead", CFRunLoopTimerGetNextFireDate(t.timer) > CFAbsoluteTimeGetCurrent());
    CFRunLoopTimerSetNextFireDate(t.timer, 0);
    run("empty", MODE, 0, false);
    CFRunLoopAddTimer(HERE, t.timer, MODE);
    run("added again", MODE, 0, false);
}

int main(void) { return on_thread(test); }
