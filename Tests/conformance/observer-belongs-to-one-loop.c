/* Semantics 2: an observer belongs to one loop: adding it to a second one does nothing until it has left the first. */
#include "trace.h"

static Item o = {.name = "o"};

static void try_here(void)
{
    CFRunLoopAddObserver(HERE, o.observer, MODE);
    check("second", CFRunLoopContainsObserver(HERE, o.observer, MODE));
}

static void test(void)
{
    add_observer(&o, kCFRunLoopEntry, true, 0);
    on_thread(try_here);
    show("while in the first");
    CFRunLoopRemoveObserver(HERE, o.observer, MODE);
    on_thread(try_here);
    show("after leaving it");
}

int main(void) { return on_thread(test); }
