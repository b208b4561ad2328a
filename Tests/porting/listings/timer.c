/* Listing 3-11, "Creating and scheduling a timer using Core Foundation". */
#include <CoreFoundation/CoreFoundation.h>
#include <stdio.h>

static int fired;

static void myCTimerCallback(CFRunLoopTimerRef timer, void *info)
{
    printf("fired, %s, interval %.1f\n", info == NULL ? "no info" : "info", CFRunLoopTimerGetInterval(timer));
    if (++fired == 2)
        CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(void)
{
    CFRunLoopRef runLoop = CFRunLoopGetCurrent();
    CFRunLoopTimerContext context = {0, NULL, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, 0.1, 0.3, 0, 0, &myCTimerCallback, &context);

    CFRunLoopAddTimer(runLoop, timer, kCFRunLoopCommonModes);
    CFRunLoopRun();
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
    return 0;
}
