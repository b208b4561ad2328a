/* Semantics 4: blocks run first in, first out, in the next pass, between BeforeSources and the sources. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, t = {.name = "T"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    add_timer(&t, -1, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b1"); });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b2"); });
    CFRunLoopPerformBlock(HERE, MODE, ^{ note("b3"); });
    run("blocks, source, timer", MODE, AGES, true);
    run("nothing left", MODE, 0, true);
}

int main(void) { return on_thread(test); }
