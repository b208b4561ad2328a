/* Semantics 2: a source added to the common modes is scheduled in each member; when removed from them, it is
 * cancelled in each. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopAddSource(HERE, create_scheduled_source(&a, 0), COMMON);
    show("one common mode");
    CFRunLoopAddCommonMode(HERE, OTHER);
    show("a second common mode, later");
    CFRunLoopAddCommonMode(HERE, OTHER);
    show("named again");
    CFRunLoopSourceSignal(a.source);
    run("other", OTHER, 0, false);
    CFRunLoopRemoveSource(HERE, a.source, OTHER);
    CFRunLoopRemoveSource(HERE, a.source, COMMON);
    check("common", CFRunLoopContainsSource(HERE, a.source, COMMON));
    check("default", CFRunLoopContainsSource(HERE, a.source, MODE));
    show("removed from one, then from all");
}

int main(void) { return on_thread(test); }
