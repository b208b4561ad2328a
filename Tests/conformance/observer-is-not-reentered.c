/* Semantics 2: a run nested in an observer's callback calls the other observers, but not this one. */
#include "trace.h"

static void nest(Item *item)
{
    if (item->calls == 1)
        run_nested(MODE, 0, false);
}

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o", .action = nest};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopAllActivities, true, 1);
    watch(MODE);
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
