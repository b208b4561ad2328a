/* Semantics 4: a pending block makes an empty mode runnable: that run waits for its deadline, and the next one is
 * Finished. */
#include "trace.h"

static void test(void)
{
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b"); });
    run("one block", MODE, 0, false);
    run("none", MODE, AGES, false);
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b"); });
    run("one block, with time", MODE, SOON, true);
    run("none", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
