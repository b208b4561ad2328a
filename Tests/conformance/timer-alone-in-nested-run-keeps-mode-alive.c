/* Semantics 2: a timer that is firing still counts: a run nested in it is not Finished, but waits for its deadline. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(MODE, 0.02, false);
}

static void test(void)
{
    static Item t = {.name = "T", .action = nest};
    add_timer(&t, -1, 0);
    watch(MODE);
    run("outer", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
