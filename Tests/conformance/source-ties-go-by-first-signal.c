/* Semantics 2: sources of equal order are performed in the order in which they were first signalled. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, c = {.name = "C"}, first = {.name = "F"};
    add_source(&a, 5);
    add_source(&b, 5);
    add_source(&c, 5);
    add_source(&first, 4);
    CFRunLoopSourceSignal(c.source);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    CFRunLoopSourceSignal(first.source);
    CFRunLoopSourceSignal(c.source);
    run("c a b first c", MODE, 0, false);
}

int main(void) { return on_thread(test); }
