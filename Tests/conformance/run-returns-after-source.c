/* Semantics 1: with returnAfterSourceHandled the pass that handled a source is the last one. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopSourceSignal(a.source);
    run("signalled", MODE, AGES, true);
    CFRunLoopSourceSignal(a.source);
    run("signalled, 0 s", MODE, 0, true);
    run("not signalled", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
