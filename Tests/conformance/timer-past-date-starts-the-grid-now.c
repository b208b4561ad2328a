/* Semantics 3: GetNextFireDate returns a past date unchanged, but the grid starts when the date was set, in Create
 * or by SetNextFireDate. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"};
    double start = CFAbsoluteTimeGetCurrent();
    add_timer(&t, -15, 10);
    check("past date kept", CFRunLoopTimerGetNextFireDate(t.timer) < start - 14);
    run("created", MODE, 0, false);
    check_grid(&t, start, 10);
    show("grid");
    CFRunLoopTimerSetNextFireDate(t.timer, start - 15);
    check("past date kept", CFRunLoopTimerGetNextFireDate(t.timer) == start - 15);
    run("set", MODE, 0, false);
    check_grid(&t, start, 10);
    show("grid");
}

int main(void) { return on_thread(test); }
