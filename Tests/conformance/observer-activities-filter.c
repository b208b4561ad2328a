/* Semantics 2: an observer is called only for the activities it asked for. */
#include "trace.h"

static void test(void)
{
    static Item source = {.name = "S"}, waiting = {.name = "w"}, sources = {.name = "s"}, none = {.name = "n"};
    CFRunLoopSourceSignal(add_source(&source, 0));
    add_observer(&waiting, kCFRunLoopBeforeWaiting | kCFRunLoopAfterWaiting, true, 0);
    add_observer(&sources, kCFRunLoopBeforeSources, true, 0);
    add_observer(&none, 0, true, 0);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
