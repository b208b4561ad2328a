/* Semantics 3: a timer does not count as a source: a run that returns after a source continues. */
#include "trace.h"

static void test(void)
{
    static Item t = {.name = "T"}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_timer(&t, -1, 0);
    watch(MODE);
    run("returning", MODE, SOON, true);
    add_timer(&t, -1, 0);
    run("polling", MODE, 0, true);
}

int main(void) { return on_thread(test); }
