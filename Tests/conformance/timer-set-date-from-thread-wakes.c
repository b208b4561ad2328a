/* Semantics 3: SetNextFireDate by another thread takes effect while the loop sleeps; it wakes the loop for a pass. */
#include "trace.h"

static Item t = {.name = "T", .action = stop};

static void hurry(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopTimerSetNextFireDate(t.timer, CFAbsoluteTimeGetCurrent() + 0.02);
}

static void test(void)
{
    add_timer(&t, 60, 0);
    watch(MODE);
    run_with_helper("hurried", AGES, false, hurry);
}

int main(void) { return on_thread(test); }
