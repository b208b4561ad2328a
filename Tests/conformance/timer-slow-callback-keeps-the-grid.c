/* Semantics 3: grid points missed while the callback runs are skipped; the next one is ahead and on the old grid. */
#include "trace.h"

static void dawdle(Item *item)
{
    usleep(500000); /* from 0.2 to 0.7 */
    stop(item);
}

static void test(void)
{
    static Item t = {.name = "T", .action = dawdle};
    double start = CFAbsoluteTimeGetCurrent();
    add_timer(&t, 0.2, 0.2);
    run("slow", MODE, AGES, false);
    check_grid(&t, start, 0.2);
    show("grid");
}

int main(void) { return on_thread(test); }
