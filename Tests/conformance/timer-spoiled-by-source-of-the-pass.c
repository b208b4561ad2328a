/* Semantics 3: a due timer that a source of the same pass invalidates or removes does not fire. */
#include "trace.h"

static Item invalidated = {.name = "invalidated"}, removed = {.name = "removed"}, left = {.name = "left"};

static void spoil(Item *item)
{
    (void)item;
    CFRunLoopTimerInvalidate(invalidated.timer);
    CFRunLoopRemoveTimer(HERE, removed.timer, MODE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = spoil};
    add_timer(&invalidated, -3, 60);
    add_timer(&removed, -2, 60);
    add_timer(&left, -1, 60);
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
