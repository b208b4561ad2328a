/* Semantics 3: a source signalled by a timer is performed in the next pass, even in a run that returns after it. */
#include "trace.h"

static Item a = {.name = "A"};

static void signal_a(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(a.source);
}

static void test(void)
{
    static Item t = {.name = "T", .action = signal_a}, u = {.name = "U", .action = signal_a};
    add_source(&a, 0);
    add_timer(&t, 0.01, 0);
    watch(MODE);
    run("with time", MODE, AGES, true);
    add_timer(&u, -1, 0);
    run("without", MODE, 0, true);
    run("the next run", MODE, 0, true);
}

int main(void) { return on_thread(test); }
