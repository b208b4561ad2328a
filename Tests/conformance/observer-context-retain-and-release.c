/* Semantics 2: Create retains the info once; Invalidate releases it immediately, and then GetContext returns NULL as
 * info. */
#include "trace.h"

static int info = 7;

static const void *retain(const void *pointer)
{
    note("retain");
    return pointer;
}

static void release(const void *pointer) { note("release(%d)", *(const int *)pointer); }

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *pointer)
{
    (void)observer;
    note("%s(%d)", activity_name(activity), *(int *)pointer);
}

static void test(void)
{
    static Item idle = {.name = "I"};
    CFRunLoopObserverContext context = {.info = &info, .retain = retain, .release = release}, copy = {.version = 0};
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, observe, &context);
    add_source(&idle, 0);
    CFRunLoopAddObserver(HERE, observer, MODE);
    CFRunLoopAddObserver(HERE, observer, OTHER);
    run("created, added to two modes, run", MODE, 0, false);
    CFRunLoopObserverGetContext(observer, &copy);
    check("info", copy.info == &info);
    CFRunLoopObserverInvalidate(observer);
    CFRunLoopObserverGetContext(observer, &copy);
    check("info NULL", copy.info == NULL);
    show("invalidated");
    CFRelease(observer);
    show("released");
    observer = CFRunLoopObserverCreate(NULL, kCFRunLoopEntry, true, 0, observe, &context);
    CFRelease(observer);
    show("created and released");
}

int main(void) { return on_thread(test); }
