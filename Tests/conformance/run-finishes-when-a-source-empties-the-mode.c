/* Semantics 1: if a callback removes or invalidates the last source, the run is Finished; when returning,
 * HandledSource. */
#include "trace.h"

static void leave(Item *item) { CFRunLoopRemoveSource(HERE, item->source, MODE); }
static void die(Item *item) { CFRunLoopSourceInvalidate(item->source); }

static void test(void)
{
    static Item a = {.name = "A", .action = leave}, b = {.name = "B", .action = die};
    watch(MODE);
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("removed", MODE, AGES, false);
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopSourceSignal(a.source);
    run("removed, returning", MODE, AGES, true);
    CFRunLoopSourceSignal(add_source(&b, 0));
    run("invalidated", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
