/* Semantics 2: observers are called for a run nested in a source's or a timer's callback. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(MODE, 0, false);
}

static void test(void)
{
    static Item source = {.name = "S", .action = nest}, t = {.name = "T", .action = nest};
    CFRunLoopSourceSignal(add_source(&source, 0));
    watch(MODE);
    run("nested in a source", MODE, 0, false);
    add_timer(&t, -1, 0);
    run("nested in a timer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
