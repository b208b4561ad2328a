/* Semantics 1: a run whose time has elapsed is TimedOut, even if its last callback stopped it. */
#include "trace.h"

static void sleep_and_stop(Item *item)
{
    usleep(60000);
    stop(item);
}

static void test(void)
{
    static Item a = {.name = "A", .action = sleep_and_stop}, t = {.name = "T", .action = sleep_and_stop};
    add_source(&a, 0);
    CFRunLoopSourceSignal(a.source);
    run("0 s, source", MODE, 0, false);
    CFRunLoopSourceSignal(a.source);
    run("source outlasts the deadline", MODE, 0.03, false);
    CFRunLoopSourceSignal(a.source);
    run("the same, returning", MODE, 0.03, true);
    add_timer(&t, -1, 0);
    run("timer outlasts the deadline", MODE, 0.03, false);
}

int main(void) { return on_thread(test); }
