/* Semantics 1: Stop in the Exit observer is too late: it affects neither this run's result nor the next run. */
#include "trace.h"

static void test(void)
{
    static Item o = {.name = "o", .action = stop}, a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    add_observer(&o, kCFRunLoopExit, true, 1);
    run("first", MODE, SOON, false);
    run("second", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
