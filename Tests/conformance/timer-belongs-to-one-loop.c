/* Semantics 3: a timer belongs to one loop: adding it to a second does nothing until it has left every mode of the
 * first. */
#include "trace.h"

static Item t = {.name = "T"};

static void try_here(void)
{
    CFRunLoopAddTimer(HERE, t.timer, MODE);
    check("second", CFRunLoopContainsTimer(HERE, t.timer, MODE));
}

static void test(void)
{
    add_timer(&t, 60, 60);
    CFRunLoopAddTimer(HERE, t.timer, OTHER);
    on_thread(try_here);
    check("first", CFRunLoopContainsTimer(HERE, t.timer, MODE));
    show("while in the first");
    CFRunLoopRemoveTimer(HERE, t.timer, MODE);
    on_thread(try_here);
    show("after leaving one mode");
    CFRunLoopRemoveTimer(HERE, t.timer, OTHER);
    on_thread(try_here);
    show("after leaving both");
}

int main(void) { return on_thread(test); }
