/* Semantics 1: the run is Finished when the last timer fires once, or is invalidated or removed in its callback. */
#include "trace.h"

static void leave(Item *item) { CFRunLoopRemoveTimer(HERE, item->timer, MODE); }
static void die(Item *item) { CFRunLoopTimerInvalidate(item->timer); }

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B", .action = leave}, c = {.name = "C", .action = die};
    watch(MODE);
    add_timer(&a, 0.02, 0);
    run("fires once", MODE, AGES, false);
    add_timer(&b, 0.02, 60);
    run("removed", MODE, AGES, false);
    add_timer(&c, 0.02, 60);
    run("invalidated", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
