/* Semantics 8: readiness from before the run, or from before Add, is noticed; it counts as a handled source. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"}, q = {.name = "Q"};
    create_port(&p, 0);
    make_ready(&p);
    CFRunLoopAddSource(HERE, p.source, MODE);
    run("ready before Add", MODE, AGES, true);
    add_port(&q, 0);
    make_ready(&q);
    run("ready before the run", MODE, AGES, true);
    run("not ready", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
