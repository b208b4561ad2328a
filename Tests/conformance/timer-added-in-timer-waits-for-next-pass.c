/* Semantics 3: a due timer added by another timer's callback fires in the next pass. */
#include "trace.h"

static Item fresh = {.name = "N"};

static void add_fresh(Item *item)
{
    (void)item;
    add_timer(&fresh, -10, 0);
}

static void test(void)
{
    static Item t = {.name = "T", .action = add_fresh};
    add_timer(&t, -1, 0);
    watch(MODE);
    run("run", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
