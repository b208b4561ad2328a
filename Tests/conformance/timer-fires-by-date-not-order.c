/* Semantics 3: due timers fire by date, the earliest first; their order numbers do not matter. */
#include "trace.h"

static CFRunLoopTimerRef add(Item *item, double delay, CFIndex order)
{
    CFRunLoopTimerContext context = {.info = item};
    double date = CFAbsoluteTimeGetCurrent() + delay;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, date, 0, 0, order, item_fire, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    return timer;
}

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"}, c = {.name = "C"};
    CFRunLoopTimerRef last = add(&c, 0.3, -100);
    add(&a, 0.1, 100);
    add(&b, 0.2, 0);
    note("%ld", (long)CFRunLoopTimerGetOrder(last));
    show("order of the last");
    usleep(350000);
    run("all due", MODE, 0, false);
}

int main(void) { return on_thread(test); }
