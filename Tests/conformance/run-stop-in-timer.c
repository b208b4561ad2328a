/* Semantics 1: Stop in a timer: Stopped, also for a run that returns after a source; other due timers fire first. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T", .action = stop}, u = {.name = "U"};
    watch(MODE);
    add_timer(&t, -2, 0);
    add_timer(&u, -1, 0);
    run("going on", MODE, AGES, false);
    add_timer(&t, -1, 0);
    run("returning", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
