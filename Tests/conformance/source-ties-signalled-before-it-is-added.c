/* Semantics 2: of sources of equal order that are signalled, the one that was signalled first performs first, though it was not in
 * the mode then, nor in any. */
#include "trace.h"

static void test(void)
{
    Item one = {.name = "one"}, two = {.name = "two"};
    add_source(&two, 0);
    create_source(&one, 0);
    CFRunLoopSourceSignal(one.source);
    CFRunLoopSourceSignal(two.source);
    run("nothing", OTHER, 0, false);
    CFRunLoopAddSource(HERE, one.source, MODE);
    run("both", MODE, 0, false);
}

int main(void) { return on_thread(test); }
