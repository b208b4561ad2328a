/* Semantics 2: an observer invalidated or removed by a source is not called for the rest of the run. */
#include "trace.h"

static Item invalidated = {.name = "i"}, removed = {.name = "r"};

static void spoil(Item *item)
{
    (void)item;
    CFRunLoopObserverInvalidate(invalidated.observer);
    CFRunLoopRemoveObserver(HERE, removed.observer, MODE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = spoil};
    CFRunLoopSourceSignal(add_source(&a, 0));
    add_observer(&invalidated, kCFRunLoopAllActivities, true, 0);
    add_observer(&removed, kCFRunLoopAllActivities, true, 1);
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
