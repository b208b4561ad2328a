/* Semantics 1: once a nested run has returned, Stop in the same callback stops the outer run. */
#include "trace.h"

static void nest_then_stop(Item *item)
{
    run_nested(MODE, 0, false);
    stop(item);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest_then_stop}, idle = {.name = "I"};
    add_source(&idle, 1);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    run("outer", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
