/* Semantics 3: a later date set in a repeating timer's callback wins over the automatic one, and is the new grid. */
#include "trace.h"

static double start;

static void postpone(Item *item)
{
    if (item->calls == 1)
        CFRunLoopTimerSetNextFireDate(item->timer, start + 0.5);
    stop(item);
}

static void test(void)
{
    static Item t = {.name = "T", .action = postpone};
    start = CFAbsoluteTimeGetCurrent();
    add_timer(&t, 0.01, 0.2);
    run("first", MODE, AGES, false);
    run("second", MODE, AGES, false);
    check("not before the date", CFAbsoluteTimeGetCurrent() - start >= 0.499);
    check_grid(&t, start + 0.5, 0.2);
    show("grid");
}

int main(void) { return on_thread(test); }
