/* Semantics 1: if another thread removes the last source and wakes the loop, the run is Finished. */
#include "trace.h"

static Item a = {.name = "A"};

static void remove_a(CFRunLoopRef loop)
{
    CFRunLoopRemoveSource(loop, a.source, MODE);
    CFRunLoopWakeUp(loop);
}

static void test(void)
{
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("removed", AGES, false, remove_a);
}

int main(void) { return on_thread(test); }
