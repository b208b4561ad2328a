/* Semantics 8: a version-1 source is invalidated by a run nested in its perform; the outer run continues without it. */
#include "trace.h"

static Item p = {.name = "P"}, q = {.name = "Q"};

static void nest(Item *item)
{
    (void)item;
    make_ready(&q);
    run_nested(MODE, AGES, true);
}

static void kill_p(Item *item)
{
    (void)item;
    CFRunLoopSourceInvalidate(p.source);
    make_ready(&p);
}

static void test(void)
{
    p.action = nest;
    q.action = kill_p;
    add_port(&p, 0);
    add_port(&q, 0);
    make_ready(&p);
    run("outer", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
