/* Semantics 1: a nested run may outlive the outer deadline; the outer run is TimedOut as soon as the nested one
 * returns. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(OTHER, 0.1, false);
}

static void test(void)
{
    static Item t = {.name = "T", .action = nest}, idle = {.name = "I"}, a = {.name = "A"};
    add_source(&a, 0);
    CFRunLoopAddSource(HERE, create_source(&idle, 0), OTHER);
    add_timer(&t, 0.01, 0);
    watch(MODE);
    run("outer", MODE, 0.03, false);
}

int main(void) { return on_thread(test); }
