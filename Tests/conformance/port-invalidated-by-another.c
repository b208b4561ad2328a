/* Semantics 8: a ready version-1 source that another one invalidates or removes before its turn is not performed. */
#include "trace.h"

static Item q = {.name = "Q"}, r = {.name = "R"};

static void spoil(Item *item)
{
    (void)item;
    CFRunLoopSourceInvalidate(q.source);
    CFRunLoopRemoveSource(HERE, r.source, MODE);
}

static void test(void)
{
    static Item p = {.name = "P", .action = spoil};
    add_port(&p, 0);
    add_port(&q, 0);
    add_port(&r, 0);
    make_ready(&p);
    make_ready(&q);
    make_ready(&r);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
