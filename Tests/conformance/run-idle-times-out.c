/* Semantics 1: an idle run sleeps once until its deadline. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    double start = CFAbsoluteTimeGetCurrent();
    run("idle", MODE, 0.1, false);
    check("at least 0.1 s", CFAbsoluteTimeGetCurrent() - start >= 0.0999);
    show("slept");
}

int main(void) { return on_thread(test); }
