/* Semantics 3: a past date set in a repeating timer's callback makes it fire again in the next pass. */
#include "trace.h"

static void hurry(Item *item)
{
    if (item->calls < 3)
        CFRunLoopTimerSetNextFireDate(item->timer, CFAbsoluteTimeGetCurrent() - 100);
}

static void test(void)
{
    static Item t = {.name = "T", .action = hurry};
    add_timer(&t, -1, 60);
    watch(MODE);
    run("first pass", MODE, 0, false);
    run("second pass", MODE, 0, false);
    run("third pass", MODE, 0, false);
    run("fourth pass", MODE, 0, false);
}

int main(void) { return on_thread(test); }
