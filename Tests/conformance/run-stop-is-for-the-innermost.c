/* Semantics 1: Stop ends only the innermost activation; the outer run continues to its own end. */
#include "trace.h"

static Item inner = {.name = "I", .action = stop};

static void nest(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(inner.source);
    run_nested(MODE, AGES, false);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest};
    add_source(&inner, 1);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
