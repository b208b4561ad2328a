/* Semantics 8: a run nested in a version-1 source's perform serves another ready one; the outer run does not perform
 * that one again. */
#include "trace.h"

static void nest(Item *item)
{
    if (item->calls == 1)
        run_nested(MODE, AGES, true);
}

static void test(void)
{
    static Item p = {.name = "P", .action = nest}, q = {.name = "Q"};
    add_port(&p, 0);
    add_port(&q, 0);
    make_ready(&p);
    make_ready(&q);
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
