/* Semantics 3: CFRunLoopGetNextTimerFireDate counts a timer whose callback is running, with the date for which it
 * fires, or the one that was set in the meantime. */
#include "trace.h"

static CFAbsoluteTime base;

static const char *when(CFAbsoluteTime date)
{
    return date == 0 ? "none" : date < base ? "past" : date < base + 1000 ? "near" : "far";
}

static void say(const char *label, CFRunLoopTimerRef timer)
{
    note("timer=%s", when(CFRunLoopTimerGetNextFireDate(timer)));
    note("loop=%s", when(CFRunLoopGetNextTimerFireDate(HERE, MODE)));
    note("other=%s", when(CFRunLoopGetNextTimerFireDate(HERE, OTHER)));
    show(label);
}

static void fired(CFRunLoopTimerRef timer, void *info)
{
    const int *sets_date = info;
    say("firing", timer);
    CFRunLoopRunInMode(MODE, 0, false);
    say("after a nested run", timer);
    if (*sets_date) {
        CFRunLoopTimerSetNextFireDate(timer, base + 500);
        say("with a new date", timer);
    }
    CFRunLoopTimerInvalidate(timer);
    say("invalid", timer);
}

int main(void)
{
    base = CFAbsoluteTimeGetCurrent();
    for (int repeats = 0; repeats < 2; repeats++)
        for (int sets_date = 0; sets_date < 2; sets_date++) {
            CFRunLoopTimerContext context = {.info = &sets_date};
            CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, base - 1, repeats ? 1e6 : 0, 0, 0, fired, &context);
            CFRunLoopTimerRef later = CFRunLoopTimerCreate(NULL, base + 1e6, 0, 0, 0, fired, &context);
            CFRunLoopAddTimer(HERE, timer, MODE);
            CFRunLoopAddTimer(HERE, later, MODE);
            say("waiting", timer);
            CFRunLoopRunInMode(MODE, 0, false);
            CFRunLoopTimerInvalidate(later);
            CFRelease(later);
            CFRelease(timer);
        }
    return 0;
}
