/* Semantics 1: after a handled source the next pass polls (no BeforeWaiting), and only the one after it sleeps. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopSourceSignal(a.source);
    run("signalled", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
