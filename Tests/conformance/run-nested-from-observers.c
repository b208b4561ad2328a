/* Semantics 1: a run may be nested in an observer, here in BeforeWaiting: it does the pending work before the outer
 * loop sleeps. */
#include "trace.h"

static Item a = {.name = "A"};

static void nest(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(a.source);
    run_nested(MODE, AGES, true);
}

static void test(void)
{
    static Item o = {.name = "o", .action = nest};
    add_source(&a, 0);
    watch(MODE);
    add_observer(&o, kCFRunLoopBeforeWaiting, false, 1);
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
