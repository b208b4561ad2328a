/* Semantics 4: PerformBlock and WakeUp from another thread: the block runs as soon as the loop is awake. */
#include "trace.h"

static void perform(CFRunLoopRef loop)
{
    CFRunLoopPerformBlock(loop, MODE, ^{
        note("b");
        CFRunLoopStop(HERE);
    });
    CFRunLoopWakeUp(loop);
}

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    run_with_helper("run", AGES, false, perform);
}

int main(void) { return on_thread(test); }
