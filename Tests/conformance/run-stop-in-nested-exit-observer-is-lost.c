/* Semantics 1: Stop in a nested run's Exit observer still applies to the nested run: the outer one is not stopped. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(OTHER, 0, false);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest}, idle = {.name = "I"}, o = {.name = "o", .action = stop};
    CFRunLoopAddSource(HERE, create_source(&idle, 0), OTHER);
    CFRunLoopAddObserver(HERE, create_observer(&o, kCFRunLoopExit, true, 0), OTHER);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
