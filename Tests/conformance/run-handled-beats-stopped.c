/* Semantics 1: Stop inside a source: Stopped, but HandledSource when the run returns after a source. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A", .action = stop};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopSourceSignal(a.source);
    run("going on", MODE, AGES, false);
    CFRunLoopSourceSignal(a.source);
    run("returning", MODE, AGES, true);
    run("the stop did not stay behind", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
