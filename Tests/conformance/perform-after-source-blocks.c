/* Semantics 4: blocks queued by a source run right after the sources of the pass; queued by a timer, at the end of
 * the pass. */
#include "trace.h"

static void queue(Item *item)
{
    const char *name = item->name;
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b(%s)", name); });
}

static void test(void)
{
    static Item a = {.name = "A", .action = queue}, b = {.name = "B", .action = queue};
    static Item t = {.name = "T", .action = queue};
    CFRunLoopSourceSignal(add_source(&a, 0));
    CFRunLoopSourceSignal(add_source(&b, 1));
    add_timer(&t, -1, 0);
    watch(MODE);
    run("run", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
