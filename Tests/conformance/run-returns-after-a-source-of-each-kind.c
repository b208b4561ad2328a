/* Semantics 1: a run that returns after a source was handled may handle two in its last pass: one of version 0 and one of
 * version 1. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, p = {.name = "P"}, q = {.name = "Q"}, t = {.name = "T"};
    add_source(&a, 0);
    add_source(&b, 1);
    add_port(&p, 0);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    make_ready(&p);
    run("two sources and a port", MODE, AGES, true);
    run("what is left", MODE, AGES, true);
    add_port(&q, 0);
    make_ready(&q);
    run("a port alone", MODE, AGES, true);
    CFRunLoopSourceSignal(a.source);
    add_timer(&t, -1, 0);
    run("a source and a timer", MODE, AGES, true);
    run("nothing", MODE, 0, true);
}

int main(void) { return on_thread(test); }
