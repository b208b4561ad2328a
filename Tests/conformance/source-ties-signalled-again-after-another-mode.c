/* Semantics 2: sources of equal order are performed in the order in which they were first signalled, even if another
 * mode ran in between and one of them was then signalled again. */
#include "trace.h"

static void test(void)
{
    Item one = {.name = "one"}, two = {.name = "two"}, other = {.name = "other"};
    add_source(&one, 0);
    add_source(&two, 0);
    CFRunLoopAddSource(HERE, create_source(&other, 0), OTHER);
    CFRunLoopSourceSignal(one.source);
    CFRunLoopSourceSignal(two.source);
    run("another mode", OTHER, 0, false);
    CFRunLoopSourceSignal(one.source);
    run("both", MODE, 0, false);
}

int main(void) { return on_thread(test); }
