/* Semantics 2: Signal and WakeUp from another thread: the loop wakes, and the source is performed in the pass that
 * follows. */
#include "trace.h"

static Item a = {.name = "A"};

static void signal_a(CFRunLoopRef loop)
{
    CFRunLoopSourceSignal(a.source);
    CFRunLoopWakeUp(loop);
}

static void test(void)
{
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("returning", AGES, true, signal_a);
    a.action = stop;
    run_with_helper("going on", AGES, false, signal_a);
}

int main(void) { return on_thread(test); }
