/* Values: the numbers that programs write to files, or compare with, are the same as Apple's. */
#include "trace.h"

int main(void)
{
    note("%d %d %d %d", kCFRunLoopRunFinished, kCFRunLoopRunStopped, kCFRunLoopRunTimedOut, kCFRunLoopRunHandledSource);
    show("results");
    note("%lx %lx %lx", (long)kCFRunLoopEntry, (long)kCFRunLoopBeforeTimers, (long)kCFRunLoopBeforeSources);
    note("%lx %lx %lx", (long)kCFRunLoopBeforeWaiting, (long)kCFRunLoopAfterWaiting, (long)kCFRunLoopExit);
    note("%lx", (long)kCFRunLoopAllActivities);
    show("activities");
    note("%lx %lx", (long)kCFStringEncodingUTF8, (long)kCFStringEncodingASCII);
    note("%d %d %d", (int)kCFCompareLessThan, (int)kCFCompareEqualTo, (int)kCFCompareGreaterThan);
    show("strings");
    note("%zu %zu %zu", sizeof(CFRunLoopSourceContext), sizeof(CFRunLoopSourceContext1), sizeof(CFRunLoopTimerContext));
    note("%zu %zu %zu", sizeof(CFRunLoopObserverContext), sizeof(CFArrayCallBacks), sizeof(CFRange));
    note("%zu %zu %zu", sizeof(Boolean), sizeof(CFIndex), sizeof(CFRunLoopActivity));
    show("sizes");
    return 0;
}
