/* Semantics 2: a pass collects its signalled sources first: one signalled by another waits for the next pass,
 * whatever its order. */
#include "trace.h"

static Item before = {.name = "before"}, after = {.name = "after"};

static void signal_both(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(before.source);
    CFRunLoopSourceSignal(after.source);
}

static void test(void)
{
    static Item a = {.name = "A", .action = signal_both};
    add_source(&before, -1);
    add_source(&after, 1);
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
