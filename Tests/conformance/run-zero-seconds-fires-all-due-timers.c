/* Semantics 1: the single pass of a 0 s run performs all signalled sources and fires all due timers. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, t = {.name = "T"}, u = {.name = "U"}, v = {.name = "V"};
    add_source(&a, 0);
    add_source(&b, 1);
    add_timer(&t, -3, 0);
    add_timer(&u, -2, 0);
    add_timer(&v, -1, 0);
    watch(MODE);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run("everything ready", MODE, 0, false);
    run("nothing left", MODE, 0, false);
}

int main(void) { return on_thread(test); }
