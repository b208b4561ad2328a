/* Semantics 1: Stop before a nested run in the same callback belongs to the outer run and does not stop the nested
 * one. */
#include "trace.h"

static void stop_then_nest(Item *item)
{
    stop(item);
    run_nested(MODE, SOON, false);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = stop_then_nest}, idle = {.name = "I"};
    add_source(&idle, 1);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    run("outer", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
