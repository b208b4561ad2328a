/* Semantics 8: Stop in a version-1 source's perform: Stopped, or HandledSource for a run that returns after a
 * source. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P", .action = stop};
    add_port(&p, 0);
    make_ready(&p);
    run("going on", MODE, AGES, false);
    make_ready(&p);
    run("returning", MODE, AGES, true);
    run("afterwards", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
