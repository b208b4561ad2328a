/* Semantics 1: a timer that fires in a nested run and stops the loop ends that run; the outer run and its batch
 * continue. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(MODE, AGES, false);
}

static void test(void)
{
    static Item a = {.name = "A", .action = nest}, t = {.name = "T", .action = stop};
    CFRunLoopSourceSignal(add_source(&a, 0));
    add_timer(&t, 0.02, 0);
    watch(MODE);
    run("outer", MODE, 0.1, false);
}

int main(void) { return on_thread(test); }
