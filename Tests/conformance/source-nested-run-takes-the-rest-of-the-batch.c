/* Semantics 2: a nested run performs the rest of the outer batch; the outer pass then finds nothing left of it. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    run_nested(MODE, 0, false);
}

static void test(void)
{
    static Item a = {.name = "A", .action = nest}, b = {.name = "B"}, c = {.name = "C"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    CFRunLoopSourceSignal(add_source(&b, 1));
    CFRunLoopSourceSignal(add_source(&c, 2));
    watch(MODE);
    run("outer", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
