/* Semantics 1: Stop affects the running activation only: before a run it is lost. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopStop(HERE);
    run("first run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
