/* Semantics 1: WakeUp in a version-0 source is consumed by the poll of the same pass: no extra pass. */
#include "trace.h"

static void wake(Item *item)
{
    (void)item;
    CFRunLoopWakeUp(HERE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = wake};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("woken by itself", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
