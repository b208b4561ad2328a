/* Semantics 2: sources of equal order are performed in the order in which they were first signalled, even if one was
 * not in the mode at that time, or in no mode at all. */
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
