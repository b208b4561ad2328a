/* Semantics 4: a block for the common modes creates no mode. It waits until a common mode runs that something was
 * added to. */
#include "trace.h"

static void test(void)
{
    Item o = {.name = "o"};
    CFRunLoopAddCommonMode(HERE, OTHER);
    CFRunLoopPerformBlock(HERE, COMMON, ^{ note("first"); });
    run("only made common", OTHER, 0, false);
    CFRunLoopAddObserver(HERE, create_observer(&o, kCFRunLoopBeforeTimers, true, 0), OTHER);
    run("an observer was added", OTHER, 0, false);
    CFRunLoopAddCommonMode(HERE, CFSTR("third"));
    CFRunLoopPerformBlock(HERE, COMMON, ^{ note("second"); });
    run("only made common", CFSTR("third"), 0, false);
    run("default", MODE, 0, false);
    CFRunLoopAddCommonMode(HERE, CFSTR("fourth"));
    CFRunLoopPerformBlock(HERE, CFSTR("fourth"), ^{ note("third"); });
    run("made by the block", CFSTR("fourth"), 0, false);
}

int main(void) { return on_thread(test); }
