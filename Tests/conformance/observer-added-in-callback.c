/* Semantics 2: an observer added by another one is called from the next activity on, not for the present one. */
#include "trace.h"

static Item fresh = {.name = "n"};

static void add_fresh(Item *item)
{
    (void)item;
    add_observer(&fresh, kCFRunLoopAllActivities, true, 5);
}

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o", .action = add_fresh};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopEntry, false, 0);
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
