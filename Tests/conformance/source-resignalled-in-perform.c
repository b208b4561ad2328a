/* Semantics 2: the signal is cleared before perform: signalling inside perform runs the source again on the next
 * pass. */
#include "trace.h"

static void again(Item *item)
{
    if (item->calls < 3)
        CFRunLoopSourceSignal(item->source);
}

static void test(void)
{
    static Item a = {.name = "A", .action = again};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("going on", MODE, SOON, false);
    a.calls = 0;
    CFRunLoopSourceSignal(a.source);
    run("one pass", MODE, 0, false);
    run("the next one", MODE, 0, true);
}

int main(void) { return on_thread(test); }
