/* Semantics 2: added twice to one mode, a source is scheduled once and cancelled by one Remove; removing it again
 * does nothing. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    create_scheduled_source(&a, 0);
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopAddSource(HERE, a.source, MODE);
    show("added twice");
    CFRunLoopAddSource(HERE, a.source, OTHER);
    show("added to another mode");
    CFRunLoopRemoveSource(HERE, a.source, MODE);
    check("default", CFRunLoopContainsSource(HERE, a.source, MODE));
    check("other", CFRunLoopContainsSource(HERE, a.source, OTHER));
    show("removed once");
    CFRunLoopRemoveSource(HERE, a.source, MODE);
    CFRunLoopRemoveSource(HERE, a.source, CFSTR("unknown"));
    show("removed where it is not");
}

int main(void) { return on_thread(test); }
