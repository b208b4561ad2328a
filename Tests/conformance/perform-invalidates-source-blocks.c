/* Semantics 4: blocks run before the sources: a signalled source invalidated by a block is not performed, and if
 * that empties the mode, the run is Finished. */
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
