/* Difference 19: a timer that was invalidated wakes no later run, even if it was the last timer of the mode. */
#include "../trace.h"

static void test(void)
{
    static Item t = {.name = "T", .action = stop}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_timer(&t, 0.02, 0.05);
    watch(MODE);
    run("first date", MODE, AGES, false);
    CFRunLoopTimerInvalidate(t.timer);
    run("invalid", MODE, 0.2, false);
}

int main(void) { return on_thread(test); }
