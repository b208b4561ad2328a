/* Semantics 1: with returnAfterSourceHandled exactly one source is performed; the others stay signalled for later
 * runs. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, c = {.name = "C"};
    add_source(&c, 3);
    add_source(&a, 1);
    add_source(&b, 2);
    CFRunLoopSourceSignal(c.source);
    CFRunLoopSourceSignal(b.source);
    CFRunLoopSourceSignal(a.source);
    run("first", MODE, AGES, true);
    run("second", MODE, 0, true);
    run("third", MODE, -1, true);
    run("fourth", MODE, 0, true);
}

int main(void) { return on_thread(test); }
