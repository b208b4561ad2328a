/* Semantics 1: a ready source precedes a due timer, which still fires in the pass that returns HandledSource. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, t = {.name = "T"}, u = {.name = "U"};
    add_source(&a, 0);
    add_timer(&t, -1, 0);
    watch(MODE);
    CFRunLoopSourceSignal(a.source);
    run("returning", MODE, AGES, true);
    add_timer(&u, -1, 0);
    CFRunLoopSourceSignal(a.source);
    run("going on", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
