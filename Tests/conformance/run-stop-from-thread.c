/* Semantics 1: Stop from another thread ends a sleeping run. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("stopped", AGES, false, stop_loop);
    run_with_helper("again", AGES, true, stop_loop);
}

int main(void) { return on_thread(test); }
