/* Semantics 4: a block that invalidates a signalled source comes first: the source is not performed; empty, the mode
 * is Finished. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopSourceRef source = add_source(&a, 0);
    CFRunLoopSourceSignal(source);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b");
        CFRunLoopSourceInvalidate(source);
        CFRunLoopWakeUp(HERE);
    });
    run("run", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
