/* Semantics 3: a timer with a past date, added by another timer's callback, waits for the next pass. There it fires
 * in the order of dates: before one with a later date that is added afterwards. */
#include "trace.h"

static Item early = {.name = "early"}, late = {.name = "late"};

static void add_early(Item *item)
{
    (void)item;
    CFRunLoopAddTimer(HERE, early.timer, OTHER);
}

static void test(void)
{
    Item adds = {.name = "adds", .action = add_early};
    create_timer(&early, -20, 0);
    create_timer(&late, -10, 0);
    add_timer(&adds, -5, 0);
    run("the one that adds", MODE, 0, false);
    CFRunLoopAddTimer(HERE, late.timer, OTHER);
    run("both", OTHER, 0, false);
}

int main(void) { return on_thread(test); }
