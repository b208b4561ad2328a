/* Semantics 1: a nested run of another mode serves that mode only; the outer mode's work waits for the outer run. */
#include "trace.h"

static Item waiting = {.name = "W"}, inner = {.name = "I"};

static void nest(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(waiting.source);
    CFRunLoopSourceSignal(inner.source);
    run_nested(OTHER, AGES, true);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest};
    add_source(&waiting, 1);
    CFRunLoopAddSource(HERE, create_source(&inner, 0), OTHER);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    watch(OTHER);
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
