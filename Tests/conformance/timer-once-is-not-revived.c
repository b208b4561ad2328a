/* Semantics 3: SetNextFireDate in a one-shot timer's own callback does not revive it, nor does it afterwards. */
#include "trace.h"

static void again(Item *item) { CFRunLoopTimerSetNextFireDate(item->timer, CFAbsoluteTimeGetCurrent() + 0.02); }

static void test(void)
{
    static Item t = {.name = "T", .action = again}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_timer(&t, 0.01, 0);
    run("run", MODE, 0.1, false);
    check("valid", CFRunLoopTimerIsValid(t.timer));
    again(&t);
    check("date 0", CFRunLoopTimerGetNextFireDate(t.timer) == 0);
    run("set afterwards", MODE, 0.05, false);
}

int main(void) { return on_thread(test); }
