/* Semantics 1: Stop in a source does not cut its batch short: the other signalled sources are still performed. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A", .action = stop}, b = {.name = "B"}, t = {.name = "T"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    CFRunLoopSourceSignal(add_source(&b, 1));
    add_timer(&t, -1, 0);
    watch(MODE);
    run("stopped", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
