/* Semantics 2: a source signalled in a timer or after waking is performed in the next pass, without any WakeUp. */
#include "trace.h"

static Item a = {.name = "A", .action = stop};

static void signal_a(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(a.source);
}

static void test(void)
{
    static Item t = {.name = "T", .action = signal_a}, o = {.name = "o", .action = signal_a};
    add_source(&a, 0);
    add_timer(&t, 0.01, 0);
    watch(MODE);
    run("in a timer", MODE, AGES, false);
    add_observer(&o, kCFRunLoopBeforeSources, false, 1);
    run("in BeforeSources", MODE, AGES, false);
    add_observer(&o, kCFRunLoopBeforeWaiting, false, 1);
    run("in BeforeWaiting", MODE, 0.1, false);
}

int main(void) { return on_thread(test); }
