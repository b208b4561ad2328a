/* Semantics 2: a signalled source added by another source's perform waits for the next pass, even with a lower
 * order. */
#include "trace.h"

static Item fresh = {.name = "N"};

static void add_fresh(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(add_source(&fresh, -10));
}

static void test(void)
{
    static Item a = {.name = "A", .action = add_fresh}, b = {.name = "B"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    CFRunLoopSourceSignal(add_source(&b, 1));
    watch(MODE);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
