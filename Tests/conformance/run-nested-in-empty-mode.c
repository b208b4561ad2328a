/* Semantics 1: a nested run of an empty mode is Finished and does not affect the outer run. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(OTHER, AGES, false);
    run_nested(COMMON, AGES, false);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest};
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    run("outer", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
