/* Semantics 1: 1e20 seconds is forever and does not overflow into the past. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("1e20", 1e20, false, stop_loop);
    run_with_helper("largest double", 1.7e308, false, stop_loop);
}

int main(void) { return on_thread(test); }
