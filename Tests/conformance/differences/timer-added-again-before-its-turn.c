/* Difference 15: a due timer that an earlier timer of the pass removes from its only mode and adds again is new in
 * the mode, so it fires in the next pass (CF: in this one). */
#include "../trace.h"

static Item first = {.name = "first"}, second = {.name = "second"};

static void add_second_again(Item *item)
{
    (void)item;
    CFRunLoopRemoveTimer(HERE, second.timer, MODE);
    CFRunLoopAddTimer(HERE, second.timer, MODE);
}

static void test(void)
{
    first.action = add_second_again;
    add_timer(&first, -20, 0);
    add_timer(&second, -10, 0);
    run("this pass", MODE, 0, false);
    run("the next", MODE, 0, false);
}

int main(void) { return on_thread(test); }
