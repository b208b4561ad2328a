/* Difference 15: timers that are due fire in the order of their dates, be these past when the timers are made (CF: in the
 * order in which such timers were made). */
#include "../trace.h"

static void fired(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    note("%s", (const char *)info);
}

static void add(const char *name, CFAbsoluteTime date)
{
    CFRunLoopTimerContext context = {.info = (void *)(uintptr_t)name};
    CFRunLoopAddTimer(HERE, CFRunLoopTimerCreate(NULL, date, 0, 0, 0, fired, &context), MODE);
}

static void test(void)
{
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    add("second", now - 20);
    add("third", now - 10);
    add("first", now - 30);
    CFRunLoopRunInMode(MODE, 0, false);
    show("fired");
}

int main(void) { return on_thread(test); }
