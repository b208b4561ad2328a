/* Semantics 3: GetNextTimerFireDate returns 0 without timers, otherwise the earliest date, which is kept up to date. */
#include "trace.h"

static double now;

static void show_next(const char *label)
{
    double next = CFRunLoopGetNextTimerFireDate(HERE, MODE);
    note("%d", next == 0 ? 0 : (int)(next - now + 0.5));
    show(label);
}

static void test(void)
{
    static Item t = {.name = "T"}, u = {.name = "U"}, v = {.name = "V"};
    now = CFAbsoluteTimeGetCurrent();
    show_next("nothing");
    add_timer(&t, 300, 0);
    show_next("300");
    add_timer(&u, 100, 0);
    add_timer(&v, 200, 0);
    show_next("300, 100, 200");
    CFRunLoopTimerInvalidate(u.timer);
    show_next("the 100 invalidated");
    CFRunLoopTimerSetNextFireDate(t.timer, now + 50);
    show_next("the 300 moved to 50");
    CFRunLoopRemoveTimer(HERE, t.timer, MODE);
    show_next("the 50 removed");
    CFRunLoopTimerInvalidate(v.timer);
    show_next("none left");
    note("%d", CFRunLoopGetNextTimerFireDate(HERE, CFSTR("unknown")) == 0);
    note("%d", CFRunLoopGetNextTimerFireDate(HERE, COMMON) == 0);
    show("unknown mode, common modes");
}

int main(void) { return on_thread(test); }
