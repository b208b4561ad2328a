/* Semantics 3: a due timer added by a source or an observer still fires in the same pass. */
#include "trace.h"

static Item t = {.name = "T"};

static void add_due(Item *item)
{
    (void)item;
    add_timer(&t, -1, 0);
}

static void test(void)
{
    static Item a = {.name = "A", .action = add_due}, o = {.name = "o", .action = add_due};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("added by a source", MODE, 0, false);
    add_observer(&o, kCFRunLoopBeforeWaiting, false, 1);
    run("added in BeforeWaiting", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
