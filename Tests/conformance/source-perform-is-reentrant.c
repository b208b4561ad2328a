/* Semantics 2: perform may be entered again through a nested run of the same mode. */
#include "trace.h"

static void nest(Item *item)
{
    if (item->calls > 3)
        return;
    CFRunLoopSourceSignal(item->source);
    run_nested(MODE, 0, true);
}

static void test(void)
{
    static Item a = {.name = "A", .action = nest};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("outer", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
