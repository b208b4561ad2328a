/* Semantics 3: a timer whose callout is NULL keeps its mode from being empty and becomes invalid as usual, and an observer whose
 * callout is NULL does nothing. */
#include "trace.h"

static void test(void)
{
    double now = CFAbsoluteTimeGetCurrent();
    CFRunLoopTimerRef never = CFRunLoopTimerCreate(NULL, now + 1e6, 0, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(HERE, never, MODE);
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, NULL, NULL);
    CFRunLoopAddObserver(HERE, observer, MODE);
    run("waits", MODE, SOON, false);
    CFRunLoopTimerInvalidate(never);
    run("empty", MODE, SOON, false);

    CFRunLoopTimerRef once = CFRunLoopTimerCreate(NULL, now, 0, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(HERE, once, MODE);
    run("fires", MODE, AGES, false);
    check("once valid", CFRunLoopTimerIsValid(once));

    CFRunLoopTimerRef repeating = CFRunLoopTimerCreate(NULL, now, 1e6, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(HERE, repeating, MODE);
    run("repeats", MODE, SOON, false);
    check("repeating valid", CFRunLoopTimerIsValid(repeating));
    check("observer valid", CFRunLoopObserverIsValid(observer));
    show("afterwards");
}

int main(void) { return on_thread(test); }
