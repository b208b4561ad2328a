/* Semantics 3: timers with the same past date fire in the order in which they were added, in each mode; a timer
 * whose date is set comes after those that already have it. */
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

static void in_one_mode(void)
{
    add_all(date);
    run("as they were added", MODE, 0, false);

    add_all(date);
    set(3, date);
    set(0, HUGE_VAL);
    set(7, date);
    set(0, date);
    run("set behind the others", MODE, 0, false);

    add_all(HUGE_VAL);
    for (int i = TIMERS - 1; i >= 0; i--)
        set(i, date);
    run("as they were set", MODE, 0, false);
}

static void in_several_modes(void)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < TIMERS; i++) {
            add(i, date, i % 4 == 3 ? OTHER : i % 4 == 1 ? COMMON : MODE);
            if (i % 4 == 2)
                CFRunLoopAddTimer(HERE, timers[i].timer, OTHER);
        }
        run("first mode", round == 0 ? MODE : OTHER, 0, false);
        run("second mode", round == 0 ? OTHER : MODE, 0, false);
        CFRunLoopAddCommonMode(HERE, OTHER); /* from now on timers of the common modes are in both modes */
    }
}

static void test(void)
{
    date = CFAbsoluteTimeGetCurrent() - 1000;
    in_one_mode();
    in_several_modes();
}

int main(void) { return on_thread(test); }
