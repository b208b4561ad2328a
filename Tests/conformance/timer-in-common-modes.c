/* Semantics 3: a timer in the common modes is in every member, even one that joins later; ContainsTimer(common)
 * checks the common set. */
#include "trace.h"

static void show_membership(const char *label, CFRunLoopTimerRef timer)
{
    check("common", CFRunLoopContainsTimer(HERE, timer, COMMON));
    check("default", CFRunLoopContainsTimer(HERE, timer, MODE));
    check("other", CFRunLoopContainsTimer(HERE, timer, OTHER));
    show(label);
}

static void test(void)
{
    static Item t = {.name = "T"};
    CFRunLoopAddTimer(HERE, create_timer(&t, -1, 60), COMMON);
    show_membership("added", t.timer);
    CFRunLoopAddCommonMode(HERE, OTHER);
    show_membership("later member", t.timer);
    run("fires in it", OTHER, 0, false);
    CFRunLoopRemoveTimer(HERE, t.timer, MODE);
    show_membership("removed from one", t.timer);
    CFRunLoopRemoveTimer(HERE, t.timer, COMMON);
    show_membership("removed from all", t.timer);
    CFRunLoopAddTimer(HERE, t.timer, COMMON);
    CFRunLoopTimerInvalidate(t.timer);
    show_membership("added and invalidated", t.timer);
}

int main(void) { return on_thread(test); }
