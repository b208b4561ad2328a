/* Semantics 1: Stop in AfterWaiting: the event that woke the loop is still delivered, then the run is Stopped. */
#include "trace.h"

static void test(void)
{
    static Item o = {.name = "o", .action = stop}, t = {.name = "T"};
    watch(MODE);
    add_observer(&o, kCFRunLoopAfterWaiting, true, 1);
    add_timer(&t, 0.02, 0);
    run("timer", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
