/* Semantics 3: dates are clamped to 4 039 289 856.0, in Create and in SetNextFireDate; such a timer does not fire
 * immediately. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"};
    CFRunLoopTimerContext context = {.info = &t};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 1e300, 0, 0, 0, item_fire, &context);
    note("%.1f", CFRunLoopTimerGetNextFireDate(timer));
    CFRunLoopTimerSetNextFireDate(timer, 5);
    note("%.1f", CFRunLoopTimerGetNextFireDate(timer));
    CFRunLoopTimerSetNextFireDate(timer, 4039289857.0);
    note("%.1f", CFRunLoopTimerGetNextFireDate(timer));
    show("dates");
    CFRunLoopAddTimer(HERE, timer, MODE);
    run("far future", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
