/* Semantics 3: a due timer that an earlier one of the same batch invalidates, removes or postpones does not fire. */
#include "trace.h"

static Item invalidated = {.name = "invalidated"}, removed = {.name = "removed"}, postponed = {.name = "postponed"};

static void spoil(Item *item)
{
    (void)item;
    CFRunLoopTimerInvalidate(invalidated.timer);
    CFRunLoopRemoveTimer(HERE, removed.timer, MODE);
    CFRunLoopTimerSetNextFireDate(postponed.timer, CFAbsoluteTimeGetCurrent() + 60);
}

static void test(void)
{
    static Item t = {.name = "T", .action = spoil}, last = {.name = "L"};
    add_timer(&t, -5, 0);
    add_timer(&invalidated, -4, 0);
    add_timer(&removed, -3, 0);
    add_timer(&postponed, -2, 0);
    add_timer(&last, -1, 0);
    run("batch", MODE, 0, false);
    run("next pass", MODE, 0, false);
}

int main(void) { return on_thread(test); }
