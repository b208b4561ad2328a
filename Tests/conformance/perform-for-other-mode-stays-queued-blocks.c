/* Semantics 4: blocks for other modes stay queued, in order, until such a mode runs. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    CFRunLoopPerformBlock(HERE, OTHER, ^{ note("o1"); });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("d1"); });
    CFRunLoopPerformBlock(HERE, OTHER, ^{ note("o2"); });
    CFRunLoopPerformBlock(HERE, CFSTR("third"), ^{ note("t1"); });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("d2"); });
    run("default", MODE, 0, false);
    CFRunLoopPerformBlock(HERE, OTHER, ^{ note("o3"); });
    run("other", OTHER, 0, false);
    run("other, empty now", OTHER, 0, false);
    run("third", CFSTR("third"), 0, false);
}

int main(void) { return on_thread(test); }
