/* Semantics 2: without an equal callback, sources with the same order, perform and info are equal. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"};
    CFRunLoopSourceRef one = create_source(&a, 0), two = create_source(&a, 0), later = create_source(&a, 1);
    CFRunLoopSourceRef different = create_source(&b, 0);
    check("same info", CFEqual(one, two));
    check("same hash", CFHash(one) == CFHash(two));
    check("other order", CFEqual(one, later));
    check("other info", CFEqual(one, different));
    show("equal");
    CFRunLoopAddSource(HERE, one, MODE);
    CFRunLoopAddSource(HERE, two, MODE);
    check("contained", CFRunLoopContainsSource(HERE, two, MODE));
    CFRunLoopSourceSignal(two);
    run("the second is signalled", MODE, 0, false);
    CFRunLoopSourceInvalidate(one);
    check("valid one = invalid one", CFEqual(one, two));
    show("invalidated");
}

int main(void) { return on_thread(test); }
