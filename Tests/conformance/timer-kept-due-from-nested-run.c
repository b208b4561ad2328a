/* Semantics 3: a due timer still fires in the pass if a run of another mode, nested in an earlier timer of that
 * pass, changes it without removing it from its mode: adds it to another mode, or sets it to another past date. */
#include "trace.h"

static Item first = {.name = "first"}, second = {.name = "second"}, third = {.name = "third"};
static Item inner_source = {.name = "source"}, inner_timer = {.name = "timer"};
static void (*act)(void);

static void in_nested_run(Item *item)
{
    (void)item;
    act();
}

static void run_other(Item *item)
{
    (void)item;
    run_nested(OTHER, 0, false);
}

static void add_to_one_more(void) { CFRunLoopAddTimer(HERE, second.timer, CFSTR("third")); }
static void add_to_its_own(void) { CFRunLoopAddTimer(HERE, second.timer, OTHER); }
static void set_past_date(void) { CFRunLoopTimerSetNextFireDate(second.timer, CFAbsoluteTimeGetCurrent() - 15); }
static void set_later_date(void) { CFRunLoopTimerSetNextFireDate(second.timer, CFAbsoluteTimeGetCurrent() + 100); }
static void move_to_and_fro(void)
{
    CFRunLoopAddTimer(HERE, second.timer, CFSTR("third"));
    CFRunLoopRemoveTimer(HERE, second.timer, CFSTR("third"));
}

static void run_with(const char *label, void (*action)(void), double interval)
{
    for (int by_timer = 0; by_timer < 2; by_timer++) {
        if (by_timer && action == add_to_its_own)
            continue; /* difference 15 */
        act = action;
        first.action = run_other;
        inner_source.action = inner_timer.action = in_nested_run;
        add_timer(&first, -30, interval);
        add_timer(&second, -20, interval);
        add_timer(&third, -10, interval);
        if (by_timer) {
            CFRunLoopAddTimer(HERE, create_timer(&inner_timer, -1, 0), OTHER);
        } else {
            CFRunLoopAddSource(HERE, create_source(&inner_source, 0), OTHER);
            CFRunLoopSourceSignal(inner_source.source);
        }
        run(label, MODE, 0, false);
        run("again", MODE, 0, false);
        run("third mode", CFSTR("third"), 0, false);
        CFRunLoopTimerInvalidate(first.timer);
        CFRunLoopTimerInvalidate(second.timer);
        CFRunLoopTimerInvalidate(third.timer);
        if (!by_timer)
            CFRunLoopSourceInvalidate(inner_source.source);
    }
}

static void test(void)
{
    for (int repeats = 0; repeats < 2; repeats++) {
        run_with("added to one more mode", add_to_one_more, repeats * 1e6);
        run_with("added to the nested run's mode", add_to_its_own, repeats * 1e6);
        run_with("set to a past date", set_past_date, repeats * 1e6);
        run_with("set to a later date", set_later_date, repeats * 1e6);
        run_with("moved to and fro", move_to_and_fro, repeats * 1e6);
    }
}

int main(void) { return on_thread(test); }
