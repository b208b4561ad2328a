/* Semantics 1: WakeUp in BeforeTimers or BeforeSources is remembered: the sleep of that pass ends immediately. */
#include "trace.h"

static void wake_once(Item *item)
{
    if (item->calls == 1)
        CFRunLoopWakeUp(HERE);
}

static void test(void)
{
    static Item a = {.name = "A"};
    static Item o = {.name = "o", .action = wake_once}, p = {.name = "p", .action = wake_once};
    add_source(&a, 0);
    watch(MODE);
    add_observer(&o, kCFRunLoopBeforeTimers, true, 1);
    run("BeforeTimers", MODE, SOON, false);
    CFRunLoopObserverInvalidate(o.observer);
    add_observer(&p, kCFRunLoopBeforeSources, true, 1);
    run("BeforeSources", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
