/* Semantics 1: with 0 seconds the loop makes one pass and reports neither BeforeWaiting nor AfterWaiting. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    run("idle", MODE, 0, false);
    run("idle, would return after a source", MODE, 0, true);
}

int main(void) { return on_thread(test); }
