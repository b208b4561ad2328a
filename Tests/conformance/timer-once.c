/* Semantics 3: a one-shot timer is valid and has its date inside its callback; afterwards it is invalid, and its
 * date is 0. */
#include "trace.h"

static void say(Item *item)
{
    check("valid", CFRunLoopTimerIsValid(item->timer));
    check("contained", CFRunLoopContainsTimer(HERE, item->timer, MODE));
    check("date", CFRunLoopTimerGetNextFireDate(item->timer) != 0);
}

static void test(void)
{
    static Item t = {.name = "T", .action = say}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_timer(&t, 0.01, 0);
    say(&t);
    show("before");
    run("run", MODE, 0.1, false);
    say(&t);
    show("afterwards");
}

int main(void) { return on_thread(test); }
