/* Semantics 2: an observer added twice is called once and removed by one Remove; an invalid one is not added. */
#include "trace.h"

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o"};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopEntry, true, 0);
    CFRunLoopAddObserver(HERE, o.observer, MODE);
    run("added twice", MODE, 0, false);
    CFRunLoopRemoveObserver(HERE, o.observer, MODE);
    run("removed once", MODE, 0, false);
    CFRunLoopObserverInvalidate(o.observer);
    CFRunLoopAddObserver(HERE, o.observer, MODE);
    check("contained", CFRunLoopContainsObserver(HERE, o.observer, MODE));
    run("added when invalid", MODE, 0, false);
}

int main(void) { return on_thread(test); }
