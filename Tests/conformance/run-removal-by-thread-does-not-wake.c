/* Semantics 1: if another thread removes the last source or timer of a sleeping loop, the loop is not woken, and the
 * run is TimedOut at its deadline. */
#include "trace.h"

static Item a = {.name = "A"}, t = {.name = "T"};

static void remove_a(CFRunLoopRef loop) { CFRunLoopRemoveSource(loop, a.source, MODE); }
static void remove_t(CFRunLoopRef loop) { CFRunLoopRemoveTimer(loop, t.timer, MODE); }

static void test(void)
{
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("removed", 0.3, false, remove_a);
    run("afterwards", MODE, 0.3, false);
    add_timer(&t, AGES, 0);
    run_with_helper("timer removed", 0.3, false, remove_t);
    run("afterwards", MODE, 0.3, false);
}

int main(void) { return on_thread(test); }
