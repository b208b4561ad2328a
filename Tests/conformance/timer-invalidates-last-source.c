/* Semantics 1: if a timer's callback invalidates the last source and itself, nothing is left: Finished. */
#include "trace.h"

static Item a = {.name = "A"};

static void kill_all(Item *item)
{
    CFRunLoopSourceInvalidate(a.source);
    CFRunLoopTimerInvalidate(item->timer);
}

static void test(void)
{
    static Item t = {.name = "T", .action = kill_all};
    add_source(&a, 0);
    add_timer(&t, 0.01, 60);
    watch(MODE);
    run("run", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
