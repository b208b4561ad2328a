/* Semantics 2: when a thread exits, its loop releases its items; those without another reference are freed. */
#include "trace.h"

static void release(const void *info) { note("release(%s)", (const char *)info); }
static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop, (void)mode;
    note("cancel(%s)", (char *)info);
}
static void never(CFRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }

static void work_with_source(void)
{
    CFRunLoopSourceContext context = {.info = "source", .release = release, .cancel = cancel};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, source, MODE);
    CFRelease(source);
}

static void work_with_timer(void)
{
    CFRunLoopTimerContext context = {.info = "timer", .release = release};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 4e9, 0, 0, 0, never, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    CFRelease(timer);
}

int main(void)
{
    on_thread(work_with_source);
    show("source");
    on_thread(work_with_timer);
    show("timer");
    return 0;
}
