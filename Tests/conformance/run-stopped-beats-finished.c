/* Semantics 1: a callback that empties the mode and stops the loop: Stopped, or HandledSource when returning. */
#include "trace.h"

static void leave(Item *item)
{
    if (item->source)
        CFRunLoopRemoveSource(HERE, item->source, MODE);
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = leave}, t = {.name = "T", .action = leave};
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("source", MODE, AGES, false);
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("source, returning", MODE, AGES, true);
    add_timer(&t, -1, 0);
    run("timer", MODE, AGES, false);
    run("and then it is empty", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
