/* Semantics 1: WakeUp between the sleep and the next pass is ignored: that pass checks everything anyway. */
#include "trace.h"

static void wake(Item *item)
{
    (void)item;
    CFRunLoopWakeUp(HERE);
}

static void test(void)
{
    static Item a = {.name = "A"}, t = {.name = "T", .action = wake}, o = {.name = "o", .action = wake};
    add_source(&a, 0);
    add_timer(&t, 0.02, 0);
    watch(MODE);
    run("in a timer", MODE, 0.1, false);
    add_observer(&o, kCFRunLoopAfterWaiting, true, 1);
    run("in AfterWaiting", MODE, 0.05, false);
}

int main(void) { return on_thread(test); }
