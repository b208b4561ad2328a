/* Semantics 4: blocks that a pass has taken do not keep the mode from being empty: a run nested in one of them is
 * Finished. */
#include "trace.h"

static void test(void)
{
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b1");
        run_nested(MODE, AGES, false);
    });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b2"); });
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
