/* Semantics 4: a block queued by a block does not run in the same drain, but after the next sleep or poll. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"}, t = {.name = "T"};
    add_source(&idle, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b1");
        CFRunLoopPerformBlock(HERE, MODE, ^{ note("b2"); });
    });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b3"); });
    add_timer(&t, 0.02, 0);
    run("run", MODE, 0.1, false);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("c1");
        CFRunLoopPerformBlock(HERE, MODE, ^{ note("c2"); });
    });
    run("polling", MODE, 0, false);
    run("polling again", MODE, 0, false);
}

int main(void) { return on_thread(test); }
