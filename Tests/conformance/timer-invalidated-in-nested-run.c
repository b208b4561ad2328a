/* Semantics 3: if a nested run invalidates the firing timer, its info is released immediately, but retained for the
 * duration of the callback. */
#include "trace.h"

static int info = 7;
static CFRunLoopTimerRef timer;

static const void *retain(const void *pointer)
{
    note("retain");
    return pointer;
}

static void release(const void *pointer) { note("release(%d)", *(const int *)pointer); }

static void kill_timer(Item *item)
{
    (void)item;
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
}

static Item killer = {.name = "K", .action = kill_timer};

static void fire(CFRunLoopTimerRef self, void *pointer)
{
    CFRunLoopSourceSignal(killer.source);
    run_nested(MODE, AGES, true);
    note("back(%d)", *(int *)pointer);
    check("valid", CFRunLoopTimerIsValid(self));
}

static void test(void)
{
    CFRunLoopTimerContext context = {.info = &info, .retain = retain, .release = release};
    timer = CFRunLoopTimerCreate(NULL, 0, 60, 0, 0, fire, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    add_source(&killer, 0);
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
