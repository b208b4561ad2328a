/* Semantics 4: after Stop in a block, the other blocks and the sources of the pass still run; the loop does not
 * sleep. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b1");
        CFRunLoopStop(HERE);
    });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b2"); });
    run("blocks", MODE, AGES, false);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b1");
        CFRunLoopStop(HERE);
    });
    CFRunLoopSourceSignal(a.source);
    run("block and source", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
