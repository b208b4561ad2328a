/* Difference 4: a tolerance is stored, and clamped to half the interval of a repeating timer (CF on Linux ignores
 * it). */
#include "../trace.h"

static void test(void)
{
    static Item t = {.name = "T"};
    CFRunLoopTimerRef once = create_timer(&t, 60, 0), repeating = create_timer(&t, 60, 2);
    note("%g %g", CFRunLoopTimerGetTolerance(once), CFRunLoopTimerGetTolerance(repeating));
    show("at first");
    CFRunLoopTimerSetTolerance(once, 5);
    CFRunLoopTimerSetTolerance(repeating, 5);
    note("%g %g", CFRunLoopTimerGetTolerance(once), CFRunLoopTimerGetTolerance(repeating));
    show("5");
    CFRunLoopTimerSetTolerance(once, -1);
    CFRunLoopTimerSetTolerance(repeating, 0.5);
    note("%g %g", CFRunLoopTimerGetTolerance(once), CFRunLoopTimerGetTolerance(repeating));
    show("-1, 0.5");
}

int main(void) { return on_thread(test); }
