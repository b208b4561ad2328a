/* Semantics 3: a timer never fires before its date. */
#include "trace.h"

static double due;

static void compare(Item *item)
{
    if (CFAbsoluteTimeGetCurrent() < due - 0.0005)
        note("early");
    stop(item);
}

static void test(void)
{
    static Item t = {.name = "T", .action = compare};
    for (int i = 0; i < 10; i++) {
        due = CFAbsoluteTimeGetCurrent() + 0.0013 * i;
        add_timer(&t, 0.0013 * i, 0);
        run("timer", MODE, AGES, false);
    }
}

int main(void) { return on_thread(test); }
