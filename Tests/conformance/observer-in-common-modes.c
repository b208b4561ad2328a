/* Semantics 2: an observer in the common modes is called in every member, even one that joins later;
 * ContainsObserver(common) checks the common set. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, o = {.name = "o"};
    add_source(&a, 0);
    CFRunLoopAddSource(HERE, create_source(&b, 0), OTHER);
    CFRunLoopAddObserver(HERE, create_observer(&o, kCFRunLoopEntry, true, 0), COMMON);
    run("default", MODE, 0, false);
    run("not yet common", OTHER, 0, false);
    CFRunLoopAddCommonMode(HERE, OTHER);
    run("now common", OTHER, 0, false);
    CFRunLoopRemoveObserver(HERE, o.observer, MODE);
    check("common", CFRunLoopContainsObserver(HERE, o.observer, COMMON));
    check("default", CFRunLoopContainsObserver(HERE, o.observer, MODE));
    check("other", CFRunLoopContainsObserver(HERE, o.observer, OTHER));
    show("removed from one");
    CFRunLoopRemoveObserver(HERE, o.observer, COMMON);
    check("other", CFRunLoopContainsObserver(HERE, o.observer, OTHER));
    show("removed from all");
}

int main(void) { return on_thread(test); }
