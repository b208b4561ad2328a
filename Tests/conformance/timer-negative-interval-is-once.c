/* Semantics 3: an interval below zero becomes 0: the timer does not repeat. */
#include "trace.h"

static void show_timer(const char *label, CFRunLoopTimerRef timer)
{
    check("repeats", CFRunLoopTimerDoesRepeat(timer));
    check("interval 0", CFRunLoopTimerGetInterval(timer) == 0);
    show(label);
}

static void test(void)
{
    static Item t = {.name = "T"}, u = {.name = "U"}, v = {.name = "V"};
    show_timer("negative", add_timer(&t, -1, -5));
    show_timer("zero", create_timer(&u, 60, 0));
    show_timer("positive", create_timer(&v, 60, 0.001));
    run("negative fires once", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
