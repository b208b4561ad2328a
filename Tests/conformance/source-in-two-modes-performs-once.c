/* Semantics 2: a source in two modes has one signal: the first mode that runs takes it. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopAddSource(HERE, create_source(&a, 0), OTHER);
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopSourceSignal(a.source);
    run("other", OTHER, 0, false);
    run("default", MODE, 0, false);
}

int main(void) { return on_thread(test); }
