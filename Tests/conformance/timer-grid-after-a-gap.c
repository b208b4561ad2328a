/* Semantics 3: a repeating timer keeps its grid: after a gap it fires once, late, and then at the next grid point. */
#include "trace.h"

static void stop_at_second(Item *item)
{
    if (item->calls == 2)
        stop(item);
}

static void test(void)
{
    static Item t = {.name = "T", .action = stop_at_second};
    double start = CFAbsoluteTimeGetCurrent();
    add_timer(&t, 0.2, 0.2);
    run("two in time", MODE, AGES, false);
    check_grid(&t, start, 0.2);
    show("in time");
    usleep(500000); /* from 0.4 to 0.9 */
    run("once, late", MODE, 0, false);
    check_grid(&t, start, 0.2);
    show("late");
}

int main(void) { return on_thread(test); }
