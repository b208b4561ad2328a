/* Semantics 4: blocks that a pass has taken wait for it: a run nested in one of them sees only blocks queued since. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b1");
        CFRunLoopPerformBlock(HERE, MODE, ^{ note("new"); });
        run_nested(MODE, 0, false);
    });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b2"); });
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
