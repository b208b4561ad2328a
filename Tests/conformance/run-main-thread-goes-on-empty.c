/* Semantics 1: the main thread's loop continues when its last source, timer or function is gone; so does a run
 * nested in a callback of it. On another thread, and in a mode that is not common, the run ends. */
#include "trace.h"

static void invalidate(Item *item) { CFRunLoopSourceInvalidate(item->source); }
static void invalidate_and_run(Item *item)
{
    CFRunLoopSourceInvalidate(item->source);
    run_nested(MODE, SOON, false);
    run_nested(OTHER, SOON, false);
}

static Item a = {.name = "A", .action = invalidate}, b = {.name = "B", .action = invalidate_and_run}, t = {.name = "T"};

static void all(void)
{
    add_source(&a, 0);
    CFRunLoopSourceSignal(a.source);
    run("the last source", MODE, SOON, false);

    add_source(&b, 0);
    CFRunLoopSourceSignal(b.source);
    run("nested", MODE, SOON, false);

    add_timer(&t, 0, 0);
    run("the last timer", MODE, SOON, false);

    CFRunLoopAddSource(HERE, create_source(&a, 0), OTHER);
    CFRunLoopSourceSignal(a.source);
    run("the last source of another mode", OTHER, SOON, false);
}

int main(void)
{
    all();
    return on_thread(all);
}
