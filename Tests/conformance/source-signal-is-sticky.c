/* Semantics 2: a signal stays pending until the source's mode runs, even across removing and adding; two signals
 * cause one perform. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, idle = {.name = "I"};
    add_source(&idle, 0);
    create_source(&a, 0);
    CFRunLoopSourceSignal(a.source);
    run("signalled, in no mode", MODE, 0, false);
    CFRunLoopAddSource(HERE, a.source, MODE);
    run("added", MODE, 0, false);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(a.source);
    run("signalled twice", MODE, SOON, false);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopRemoveSource(HERE, a.source, MODE);
    run("signalled and removed", MODE, 0, false);
    CFRunLoopAddSource(HERE, a.source, MODE);
    run("added again", MODE, 0, false);
}

int main(void) { return on_thread(test); }
