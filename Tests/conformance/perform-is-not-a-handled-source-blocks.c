/* Semantics 4: a block does not count as a source: a run that returns after a source continues. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b"); });
    run("returning", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
