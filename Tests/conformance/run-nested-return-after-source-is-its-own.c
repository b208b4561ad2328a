/* Semantics 1: returnAfterSourceHandled belongs to one activation: a nested run returns after its source, the outer
 * one continues. */
#include "trace.h"

static Item inner = {.name = "I"};

static void nest(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(inner.source);
    run_nested(MODE, AGES, true);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest};
    add_source(&inner, 1);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    run("outer goes on", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
