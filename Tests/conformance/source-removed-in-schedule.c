/* Semantics 2: schedule is called after the source was added, so it may remove the source again. */
#include "trace.h"

static CFRunLoopSourceRef source;

static void schedule(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info;
    check("schedule contained", CFRunLoopContainsSource(loop, source, mode));
    CFRunLoopRemoveSource(loop, source, mode);
}

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info;
    check("cancel contained", CFRunLoopContainsSource(loop, source, mode));
}

static void test(void)
{
    CFRunLoopSourceContext context = {.schedule = schedule, .cancel = cancel};
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, source, MODE);
    check("contained", CFRunLoopContainsSource(HERE, source, MODE));
    show("added");
}

int main(void) { return on_thread(test); }
