/* Difference 20: a timer or observer that has left all its modes but is still one of the common items belongs to its
 * loop, and every such item leaves the common items when it is invalidated. */
#include "../trace.h"

static CFRunLoopRef elsewhere;

static void show_timer(const char *label, CFRunLoopTimerRef timer)
{
    note("here %d, %d", CFRunLoopContainsTimer(HERE, timer, COMMON), CFRunLoopContainsTimer(HERE, timer, MODE));
    note("elsewhere %d", CFRunLoopContainsTimer(elsewhere, timer, OTHER));
    show(label);
}

static void show_observer(const char *label, CFRunLoopObserverRef observer)
{
    note("here %d, %d", CFRunLoopContainsObserver(HERE, observer, COMMON),
         CFRunLoopContainsObserver(HERE, observer, MODE));
    note("elsewhere %d", CFRunLoopContainsObserver(elsewhere, observer, OTHER));
    show(label);
}

static void test(void)
{
    static Item t = {.name = "T"}, o = {.name = "O"}, s = {.name = "S"};
    create_timer(&t, 1000, 0);
    CFRunLoopAddTimer(HERE, t.timer, COMMON);
    CFRunLoopRemoveTimer(HERE, t.timer, MODE);
    show_timer("timer removed from its mode", t.timer);
    CFRunLoopAddTimer(elsewhere, t.timer, OTHER);
    show_timer("timer added elsewhere", t.timer);
    CFRunLoopTimerInvalidate(t.timer);
    show_timer("timer invalidated", t.timer);

    create_observer(&o, kCFRunLoopAllActivities, true, 0);
    CFRunLoopAddObserver(HERE, o.observer, COMMON);
    CFRunLoopRemoveObserver(HERE, o.observer, MODE);
    show_observer("observer removed from its mode", o.observer);
    CFRunLoopAddObserver(elsewhere, o.observer, OTHER);
    show_observer("observer added elsewhere", o.observer);
    CFRunLoopObserverInvalidate(o.observer);
    show_observer("observer invalidated", o.observer);

    create_source(&s, 0);
    CFRunLoopAddSource(HERE, s.source, COMMON);
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    CFRunLoopSourceInvalidate(s.source);
    check("source invalidated, still among the common items", CFRunLoopContainsSource(HERE, s.source, COMMON));
    show("source");
}

int main(void)
{
    elsewhere = HERE;
    return on_thread(test);
}
