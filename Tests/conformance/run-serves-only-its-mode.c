/* Semantics 1: items in other modes are not called, and their signals are not lost. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, t = {.name = "T"}, o = {.name = "o"};
    add_source(&a, 0);
    CFRunLoopAddSource(HERE, create_source(&b, 0), OTHER);
    CFRunLoopAddTimer(HERE, create_timer(&t, -1, 0), OTHER);
    CFRunLoopAddObserver(HERE, create_observer(&o, kCFRunLoopEntry | kCFRunLoopExit, true, 0), OTHER);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run("default", MODE, 0, false);
    run("other", OTHER, 0, false);
}

int main(void) { return on_thread(test); }
