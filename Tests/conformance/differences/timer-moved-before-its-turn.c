/* Difference 15: due timers fire by date in the modes that contain them. A timer that an earlier one of the pass
 * moves to another mode does not fire in the mode it has left (CF: it fires, since it is still in some mode of the
 * loop). A timer that a timer of a nested run adds to the nested run's mode fires there (CF: in the outer run, whose
 * pass includes it). */
#include "../trace.h"

static Item first = {.name = "first"}, second = {.name = "second"}, third = {.name = "third"};
static Item inner = {.name = "inner"};

static void move_second(Item *item)
{
    (void)item;
    CFRunLoopAddTimer(HERE, second.timer, OTHER);
    CFRunLoopRemoveTimer(HERE, second.timer, MODE);
}

static void add_second(Item *item)
{
    (void)item;
    CFRunLoopAddTimer(HERE, second.timer, OTHER);
}

static void run_other(Item *item)
{
    (void)item;
    run_nested(OTHER, 0, false);
}

static void test(void)
{
    first.action = move_second;
    add_timer(&first, -30, 0);
    add_timer(&second, -20, 0);
    add_timer(&third, -10, 0);
    run("its mode", MODE, 0, false);
    run("the other mode", OTHER, 0, false);

    inner.action = add_second;
    first.action = run_other;
    add_timer(&first, -30, 0);
    add_timer(&second, -20, 0);
    CFRunLoopAddTimer(HERE, create_timer(&inner, -40, 0), OTHER);
    run("added in a nested run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
