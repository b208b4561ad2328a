/* Semantics 1: without returnAfterSourceHandled one pass performs all signalled sources, in ascending order. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, c = {.name = "C"}, d = {.name = "D"};
    add_source(&c, 3);
    add_source(&a, -5);
    add_source(&b, 0);
    add_source(&d, 1);
    watch(MODE);
    CFRunLoopSourceSignal(c.source);
    CFRunLoopSourceSignal(b.source);
    CFRunLoopSourceSignal(a.source);
    run("three of four", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
