/* Semantics 3: adding an invalid timer does nothing; adding a timer twice adds it once. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"}, u = {.name = "U"};
    CFRunLoopTimerInvalidate(create_timer(&t, -1, 0));
    CFRunLoopAddTimer(HERE, t.timer, MODE);
    check("invalid contained", CFRunLoopContainsTimer(HERE, t.timer, MODE));
    run("invalid", MODE, AGES, false);
    add_timer(&u, -1, 60);
    CFRunLoopAddTimer(HERE, u.timer, MODE);
    run("twice", MODE, 0, false);
    CFRunLoopRemoveTimer(HERE, u.timer, MODE);
    run("removed once", MODE, AGES, false);
    check("valid", CFRunLoopTimerIsValid(u.timer));
    show("removed");
}

int main(void) { return on_thread(test); }
