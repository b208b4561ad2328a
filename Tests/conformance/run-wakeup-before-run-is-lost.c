/* Semantics 1: WakeUp is ignored while the loop is not running: the next run sleeps as usual. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    CFRunLoopWakeUp(HERE);
    CFRunLoopWakeUp(HERE);
    run("first run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
