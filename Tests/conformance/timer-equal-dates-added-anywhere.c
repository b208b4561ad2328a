/* Semantics 3: timers with the same past date fire in the order in which they were added, whichever callback or
 * thread added them. */
#include "trace.h"

enum { TIMERS = 10 };
static Item timers[TIMERS];
static CFAbsoluteTime date; /* of all timers */
static CFRunLoopRef loop;

static void add(Item *item, const char *name)
{
    item->name = name;
    CFRunLoopTimerContext context = {.info = item};
    item->timer = CFRunLoopTimerCreate(NULL, date, 0, 0, 0, item_fire, &context);
    CFRunLoopAddTimer(loop, item->timer, MODE);
}

static void add_number(int number)
{
    static const char *const names[TIMERS] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    add(&timers[number], names[number]);
}

static void add_two(Item *item)
{
    add_number(item->fd);
    add_number(item->fd + 5);
}

static void by_callbacks(void)
{
    static Item source = {.action = add_two, .fd = 1};
    static Item observer = {.name = "", .action = add_two, .fd = 2};
    static Item timer = {.action = add_two, .fd = 3};
    add_number(0);
    CFRunLoopSourceSignal(add_source(&source, 0));
    add_observer(&observer, kCFRunLoopBeforeTimers, false, 0);
    add(&timer, "timer");
    add_number(5);
    run("by callbacks", MODE, 0, false);
    run("the next pass", MODE, 0, false);
    CFRunLoopSourceInvalidate(source.source);
}

static void from_there(void) { add_number(9); }

static void by_a_thread(void)
{
    add_number(0);
    pthread_join(start_thread(from_there), NULL);
    add_number(1);
    CFRunLoopTimerSetNextFireDate(timers[0].timer, date);
    pthread_join(start_thread(from_there), NULL);
    run("by a thread", MODE, 0, false);
}

static void test(void)
{
    loop = HERE;
    date = CFAbsoluteTimeGetCurrent() - 1000;
    by_callbacks();
    by_a_thread();
}

int main(void) { return on_thread(test); }
