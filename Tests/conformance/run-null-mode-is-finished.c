/* Semantics 1: NULL is not a mode: the run is Finished (and an error is logged), although the default mode has a
 * source. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("NULL", NULL, AGES, false);
}

int main(void) { return on_thread(test); }
