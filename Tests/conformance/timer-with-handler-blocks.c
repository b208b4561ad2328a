/* Semantics 3: a timer created from a block keeps a copy of it and is called like any other. */
#include "trace.h"

static void test(void)
{
    __block int calls = 0;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreateWithHandler(NULL, 0, 0.01, 0, 0, ^(CFRunLoopTimerRef self) {
        note("T%d", ++calls);
        if (calls == 3)
            CFRunLoopTimerInvalidate(self);
    });
    CFRunLoopAddTimer(HERE, timer, MODE);
    CFRelease(timer);
    run("run", MODE, AGES, false);
    note("%d", calls);
    show("calls");
}

int main(void) { return on_thread(test); }
