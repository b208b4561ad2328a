/* Semantics 4: PerformBlock from another thread does not wake a sleeping loop; the block runs when the loop wakes,
 * here at its deadline. */
#include "trace.h"

static void perform(CFRunLoopRef loop)
{
    CFRunLoopPerformBlock(loop, MODE, ^{ note("b"); });
}

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    run_with_helper("queued while asleep", 0.3, true, perform);
    run("next run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
