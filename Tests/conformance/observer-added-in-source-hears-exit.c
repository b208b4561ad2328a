/* Semantics 2: an observer added during a run, in a mode that had none, is called for the rest of the run. */
#include "trace.h"

static Item fresh = {.name = "n"};

static void add_fresh(Item *item)
{
    (void)item;
    add_observer(&fresh, kCFRunLoopAllActivities, true, 0);
}

static void test(void)
{
    static Item source = {.name = "S", .action = add_fresh};
    CFRunLoopSourceSignal(add_source(&source, 0));
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
