/* Difference 3: adding a version-0 source from another thread wakes a sleeping loop (CF: it sleeps on). */
#include "../trace.h"

static Item a = {.name = "A"};

static void add_signalled(CFRunLoopRef loop)
{
    CFRunLoopSourceSignal(create_source(&a, 0));
    CFRunLoopAddSource(loop, a.source, MODE);
}

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    run_with_helper("added", 0.3, true, add_signalled);
}

int main(void) { return on_thread(test); }
