/* Semantics 3: timers of one date that is past fire in the order in which they were added, in each mode, wherever that was
 * done; a timer whose date is set comes behind those that have it already. */
#include "trace.h"

#include <math.h>

enum { TIMERS = 10 };
static Item timers[TIMERS];
static CFAbsoluteTime date; /* of all of them */

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
    for (int i = 0; i < TIMERS; i++) {
        timers[i].action = NULL;
        add(i, when, MODE);
    }
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
        CFRunLoopAddCommonMode(HERE, OTHER); /* from now on timers of the common modes are in both */
    }
}

/* ---- From callbacks ---- */

static void add_two(Item *item)
{
    for (int i = 0; i < TIMERS && item->calls == 1; i += 5)
        add(item->fd + i, date, MODE);
}

static void added_by_callbacks(void)
{
    static Item source = {.name = "source", .action = add_two, .fd = 1};
    static Item observer = {.name = "", .action = add_two, .fd = 2};
    static Item timer = {.name = "timer", .action = add_two, .fd = 3};
    for (int i = 0; i < TIMERS; i++)
        timers[i].action = NULL;
    add(0, date, MODE);
    CFRunLoopSourceSignal(add_source(&source, 0));
    add_observer(&observer, kCFRunLoopBeforeTimers, false, 0);
    CFRunLoopTimerContext context = {.info = &timer};
    CFRunLoopAddTimer(HERE, CFRunLoopTimerCreate(NULL, date, 0, 0, 0, item_fire, &context), MODE);
    add(5, date, MODE);
    run("added by callbacks", MODE, 0, false);
    run("the next pass", MODE, 0, false);
    CFRunLoopSourceInvalidate(source.source);
}

static void set_others(Item *item)
{
    (void)item;
    set(6, date); /* has its turn and keeps it */
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

static void set_by_callbacks(void)
{
    add_all(date);
    timers[1].action = set_others;
    run("set by a callback", MODE, 0, false);
    timers[1].action = NULL;
    set(2, date);
    run("set after the run", MODE, 0, false);

    add_all(date);
    timers[4].action = run_again;
    run("in a nested run", MODE, 0, false);
}

/* ---- From another thread, between those of this one ---- */

static CFRunLoopRef loop;

static void add_from_there(void)
{
    CFRunLoopTimerContext context = {.info = &timers[9]};
    CFRunLoopAddTimer(loop, CFRunLoopTimerCreate(NULL, date, 0, 0, 0, item_fire, &context), MODE);
}

static void added_by_a_thread(void)
{
    loop = HERE;
    add(0, date, MODE);
    pthread_join(start_thread(add_from_there), NULL);
    add(1, date, MODE);
    set(0, date);
    pthread_join(start_thread(add_from_there), NULL);
    run("added by a thread", MODE, 0, false);
}

static void test(void)
{
    date = CFAbsoluteTimeGetCurrent() - 1000;
    in_one_mode();
    in_several_modes();
    added_by_callbacks();
    set_by_callbacks();
    added_by_a_thread();
}

int main(void) { return on_thread(test); }
