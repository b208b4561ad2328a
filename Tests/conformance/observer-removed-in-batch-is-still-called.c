/* Semantics 2: an observer removed by an earlier one of the same activity is still called for that activity; an
 * invalidated one is not. */
#include "trace.h"

static Item removed = {.name = "r"}, invalidated = {.name = "i"};

static void spoil(Item *item)
{
    (void)item;
    CFRunLoopRemoveObserver(HERE, removed.observer, MODE);
    CFRunLoopObserverInvalidate(invalidated.observer);
}

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o", .action = spoil};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopBeforeTimers, false, 0);
    add_observer(&removed, kCFRunLoopAllActivities, true, 1);
    add_observer(&invalidated, kCFRunLoopAllActivities, true, 2);
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
