/* Semantics 2: of sources of equal order the one that was signalled first performs first, also if another mode was run meanwhile and it
 * was signalled once more since. */
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
