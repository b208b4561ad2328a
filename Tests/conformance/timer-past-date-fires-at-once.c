/* Semantics 3: a timer with a past date, or date 0, fires in the first pass, once, however many dates it has missed. */
#include "trace.h"

static void test(void)
{
    static Item past = {.name = "past"}, zero = {.name = "zero"}, repeating = {.name = "repeating"};
    CFRunLoopTimerContext context = {.info = &zero};
    add_timer(&past, -100, 0);
    run("past", MODE, 0, false);
    CFRunLoopAddTimer(HERE, CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, item_fire, &context), MODE);
    run("date 0", MODE, 0, false);
    add_timer(&repeating, -100, 30);
    run("repeating", MODE, 0, false);
    run("repeating, next pass", MODE, 0, false);
}

int main(void) { return on_thread(test); }
