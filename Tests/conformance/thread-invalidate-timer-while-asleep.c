/* Semantics 3: if another thread invalidates the timer that a loop sleeps for, it does not fire, and the run
 * continues to its deadline, since the mode has a source. */
#include "trace.h"

static Item t = {.name = "T"}, idle = {.name = "I"};

static void invalidate(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopTimerInvalidate(t.timer);
}

static void test(void)
{
    add_timer(&t, 5, 0);
    add_source(&idle, 0);
    watch(MODE);
    run_with_helper("invalidated", 0.3, false, invalidate);
    run("afterwards", MODE, 0, false);
}

int main(void) { return on_thread(test); }
