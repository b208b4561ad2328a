/* Semantics 3: another thread invalidates the timer a loop sleeps for: it does not fire, and the run ends at its
 * deadline. */
#include "trace.h"

static Item t = {.name = "T"};

static void invalidate(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopTimerInvalidate(t.timer);
}

static void test(void)
{
    add_timer(&t, 5, 0);
    watch(MODE);
    run_with_helper("invalidated", 0.3, false, invalidate);
    run("afterwards", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
