/* Semantics 1: several WakeUps before the loop wakes count as one; here they arrive while it is about to sleep. */
#include "trace.h"

static void wake_twice(Item *item)
{
    if (item->calls > 1)
        return;
    CFRunLoopWakeUp(HERE);
    CFRunLoopWakeUp(HERE);
}

static void test(void)
{
    static Item a = {.name = "A"}, o = {.name = "o", .action = wake_twice};
    add_source(&a, 0);
    watch(MODE);
    add_observer(&o, kCFRunLoopBeforeWaiting, true, 1);
    run("woken in BeforeWaiting", MODE, 0.1, false);
}

int main(void) { return on_thread(test); }
