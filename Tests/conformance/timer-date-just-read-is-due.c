/* Semantics 3: a timer whose date is the time that was just read is due: it fires in a run that makes one pass. The same holds for a
 * date that is set, for a date that a source sets earlier in the pass, and when a program has waited for the loop's next date. No timer
 * fires before its date, not even by as little as a date can tell. */
#include "trace.h"

enum { TIMES = 500 };

static Item timer, source;
static int early;

static void compare(Item *item)
{
    if (CFAbsoluteTimeGetCurrent() < CFRunLoopTimerGetNextFireDate(item->timer))
        early++;
}

static void fire_now(Item *item)
{
    (void)item;
    CFRunLoopTimerSetNextFireDate(timer.timer, CFAbsoluteTimeGetCurrent());
}

static void run_and_count(const char *label, void (*prepare)(void))
{
    timer.calls = 0;
    for (int i = 0; i < TIMES; i++) {
        prepare();
        CFRunLoopRunInMode(MODE, 0, false);
    }
    /* On a busy machine, CoreFoundation itself misses one now and then. That librunloop misses none is tested in ClockTests.swift. */
    check(label, timer.calls >= TIMES - 5);
}

static void create_once(void) { add_timer(&timer, 0, 0); }

static void create_repeating(void)
{
    if (timer.timer)
        CFRunLoopTimerInvalidate(timer.timer);
    add_timer(&timer, 0, AGES);
}

static void set_date(void) { fire_now(NULL); }

static void let_source_set_date(void) { CFRunLoopSourceSignal(source.source); }

static void wait_for_date(void)
{
    while (CFAbsoluteTimeGetCurrent() < CFRunLoopGetNextTimerFireDate(HERE, MODE))
        ;
}

static void test(void)
{
    timer.action = compare;
    source.action = fire_now;
    add_source(&source, 0);
    run_and_count("once", create_once);
    run_and_count("repeating", create_repeating);
    run_and_count("set", set_date);
    run_and_count("set by a source", let_source_set_date);
    CFRunLoopTimerInvalidate(timer.timer);
    add_timer(&timer, 0.0001, 0.0001);
    run_and_count("waited for", wait_for_date);
    show("fired each time");
    for (timer.calls = 0; timer.calls < TIMES;)
        CFRunLoopRunInMode(MODE, 0, false);
    check("early", early > 0);
    show("polled all the time");
}

int main(void) { return on_thread(test); }
