/* Semantics 2: a firing timer is skipped in a run nested in its callback; other timers fire there. */
#include "trace.h"

static void nest(Item *item)
{
    CFRunLoopTimerSetNextFireDate(item->timer, 0);
    run_nested(MODE, 0, false);
}

static void test(void)
{
    static Item t = {.name = "T", .action = nest}, u = {.name = "U"};
    add_timer(&t, -2, 60);
    add_timer(&u, -1, 60);
    watch(MODE);
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
