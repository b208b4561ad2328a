/* Semantics 3: timers with the same past date keep their order, whatever a callback does to those that have not
 * fired. */
#include "trace.h"

#include <math.h>

enum { TIMERS = 10 };
static Item timers[TIMERS];
static CFAbsoluteTime date; /* of all timers */

static void add(int index, CFAbsoluteTime when, CFStringRef mode)
{
    static const char *const names[TIMERS] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    timers[index].name = names[index];
    CFRunLoopTimerContext context = {.info = &timers[index]};
    timers[index].timer = CFRunLoopTimerCreate(NULL, when, 0, 0, index % 2, item_fire, &context);
    CFRunLoopAddTimer(HERE, timers[index].timer, mode);
}

static void add_all(CFAbsoluteTime when)
{
    for (int i = 0; i < TIMERS; i++)
        add(i, when, MODE);
}

static void set(int index, CFAbsoluteTime when) { CFRunLoopTimerSetNextFireDate(timers[index].timer, when); }

static void set_others(Item *item)
{
    (void)item;
    set(6, date); /* was about to fire, and still does */
    set(4, date - 100);
    set(2, HUGE_VAL);
    CFRunLoopTimerInvalidate(timers[7].timer);
}

static void run_again(Item *item)
{
    (void)item;
    CFRunLoopTimerInvalidate(timers[7].timer);
    run_nested(MODE, 0, false);
}

static void test(void)
{
    date = CFAbsoluteTimeGetCurrent() - 1000;
    add_all(date);
    timers[1].action = set_others;
    run("set by a callback", MODE, 0, false);
    set(2, date);
    run("set after the run", MODE, 0, false);

    add_all(date);
    timers[1].action = NULL;
    timers[4].action = run_again;
    run("in a nested run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
