/* Semantics 4: a block is copied when it is queued, so a block on the stack can run later; NULL is ignored. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    int copied = 1;
    void (^block)(void) = ^{ note("copied=%d", copied); };
    CFRunLoopPerformBlock(HERE, MODE, block);
    copied = 2;
    run("queued from the stack", MODE, 0, false);
    CFRunLoopPerformBlock(HERE, MODE, NULL);
    run("NULL block", MODE, 0, false);
}

int main(void) { return on_thread(test); }
