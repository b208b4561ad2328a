/* Semantics 3: a far-future date or a huge interval does not overflow into the past. */
#include "trace.h"

static void test(void)
{
    static Item far_away = {.name = "far"}, t = {.name = "T"}, u = {.name = "U"};
    add_timer(&far_away, 3e9, 0);
    add_timer(&t, -2, 5.05e8);
    add_timer(&u, -1, 1e18);
    run("first pass", MODE, 0, false);
    run("second pass", MODE, SOON, false);
    check("valid", CFRunLoopTimerIsValid(t.timer));
    check("next is ahead", CFRunLoopTimerGetNextFireDate(t.timer) > CFAbsoluteTimeGetCurrent() + 1e8);
    show("huge interval");
}

int main(void) { return on_thread(test); }
