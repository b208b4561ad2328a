/* Semantics 3: info is retained in Create and around each callback; Invalidate releases it immediately, then
 * GetContext returns NULL. */
#include "trace.h"

static int info = 7;

static const void *retain(const void *pointer)
{
    note("retain");
    return pointer;
}

static void release(const void *pointer) { note("release(%d)", *(const int *)pointer); }

static void fire(CFRunLoopTimerRef timer, void *pointer)
{
    (void)timer;
    note("fire(%d)", *(int *)pointer);
}

static void test(void)
{
    CFRunLoopTimerContext context = {.info = &info, .retain = retain, .release = release}, copy = {.version = 0};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 0, 60, 0, 0, fire, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    CFRunLoopAddTimer(HERE, timer, OTHER);
    show("created and added to two modes");
    run("fired", MODE, 0, false);
    CFRunLoopTimerGetContext(timer, &copy);
    check("info", copy.info == &info);
    CFRunLoopTimerInvalidate(timer);
    CFRunLoopTimerGetContext(timer, &copy);
    check("info NULL", copy.info == NULL);
    show("invalidated");
    CFRelease(timer);
    show("released");
    timer = CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, fire, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    CFRelease(timer);
    run("one-shot that only the loop holds", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
