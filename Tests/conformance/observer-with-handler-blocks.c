/* Semantics 2: an observer created from a block keeps a copy of it and is called like any other. */
#include "trace.h"

static void test(void)
{
    static Item idle = {.name = "I"};
    __block int calls = 0;
    add_source(&idle, 0);
    CFRunLoopObserverRef observer = CFRunLoopObserverCreateWithHandler(
        NULL, kCFRunLoopEntry | kCFRunLoopExit, true, 0, ^(CFRunLoopObserverRef self, CFRunLoopActivity activity) {
            check("self", CFRunLoopContainsObserver(HERE, self, MODE));
            note("%s%d", activity_name(activity), ++calls);
        });
    CFRunLoopAddObserver(HERE, observer, MODE);
    run("first", MODE, 0, false);
    run("second", MODE, 0, false);
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    run("invalidated", MODE, 0, false);
}

int main(void) { return on_thread(test); }
