/* Semantics 1: a negative time means one pass; the run is TimedOut even if the pass stopped the loop. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B", .action = stop};
    add_source(&a, 0);
    add_source(&b, 1);
    watch(MODE);
    run("idle", MODE, -1, false);
    CFRunLoopSourceSignal(a.source);
    run("signalled", MODE, -1, false);
    CFRunLoopSourceSignal(b.source);
    run("stopped", MODE, -1, false);
    CFRunLoopSourceSignal(b.source);
    run("stopped, returning", MODE, -1, true);
}

int main(void) { return on_thread(test); }
