/* Semantics 3: SetNextFireDate before, after and between adding: the last date counts, and a repeating timer's grid
 * starts there. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"};
    double now = CFAbsoluteTimeGetCurrent();
    create_timer(&t, 60, 60);
    CFRunLoopTimerSetNextFireDate(t.timer, now + 30);
    check("date 30", CFRunLoopTimerGetNextFireDate(t.timer) == now + 30);
    CFRunLoopAddTimer(HERE, t.timer, MODE);
    run("not due", MODE, 0, false);
    CFRunLoopTimerSetNextFireDate(t.timer, now - 1);
    run("made due", MODE, 0, false);
    double next = CFRunLoopTimerGetNextFireDate(t.timer) - now;
    check("next in one interval", next > 50 && next < 70);
    CFRunLoopTimerSetNextFireDate(t.timer, now + 1000);
    check("postponed", CFRunLoopGetNextTimerFireDate(HERE, MODE) == now + 1000);
    show("next");
}

int main(void) { return on_thread(test); }
