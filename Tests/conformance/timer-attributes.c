/* Semantics 3: the getters return the values given to Create; the date is unchanged even if it is past. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"};
    CFRunLoopTimerContext context = {.info = &t}, copy = {.version = 0};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 1000.5, 2.25, 0, -9, item_fire, &context);
    CFRunLoopTimerGetContext(timer, &copy);
    note("date %.2f interval %.2f order %ld", CFRunLoopTimerGetNextFireDate(timer), CFRunLoopTimerGetInterval(timer),
         (long)CFRunLoopTimerGetOrder(timer));
    check("repeats", CFRunLoopTimerDoesRepeat(timer));
    check("valid", CFRunLoopTimerIsValid(timer));
    check("info", copy.info == &t);
    check("type", CFGetTypeID(timer) == CFRunLoopTimerGetTypeID());
    show("timer");
}

int main(void) { return on_thread(test); }
