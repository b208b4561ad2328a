/* Semantics 1: kCFRunLoopCommonModes names a set, not a mode: running it is Finished, although its members have a
 * source. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopAddSource(HERE, create_source(&a, 0), COMMON);
    CFRunLoopSourceSignal(a.source);
    run("common modes", COMMON, AGES, false);
    run("default mode", MODE, 0, false);
}

int main(void) { return on_thread(test); }
