/* Semantics 3: a due timer still fires in the pass if an earlier timer's callback sets it to another past date,
 * whether or not it repeats. */
#include "trace.h"

static Item first = {.name = "first"}, second = {.name = "second"}, third = {.name = "third"};

static void set_second(Item *item)
{
    (void)item;
    CFRunLoopTimerSetNextFireDate(second.timer, CFAbsoluteTimeGetCurrent() - 1);
}

static void run_with(const char *label, double interval)
{
    first.action = set_second;
    add_timer(&first, -30, interval);
    add_timer(&second, -20, interval);
    add_timer(&third, -10, interval);
    run(label, MODE, 0, false);
    CFRunLoopTimerInvalidate(first.timer);
    CFRunLoopTimerInvalidate(second.timer);
    CFRunLoopTimerInvalidate(third.timer);
}

static void test(void)
{
    run_with("once", 0);
    run_with("repeating", 1e6);
}

int main(void) { return on_thread(test); }
