/* Semantics 2: an observer invalidated in its callback is not called again in that run, not even for Exit. */
#include "trace.h"

static void die(Item *item)
{
    if (item->calls == 2)
        CFRunLoopObserverInvalidate(item->observer);
}

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o", .action = die};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopAllActivities, true, 1);
    watch(MODE);
    run("run", MODE, 0, false);
    check("valid", CFRunLoopObserverIsValid(o.observer));
    check("contained", CFRunLoopContainsObserver(HERE, o.observer, MODE));
    show("afterwards");
}

int main(void) { return on_thread(test); }
