/* Semantics 1: CFRunLoopRun returns after Stop, although a source is left. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, t = {.name = "T", .action = stop};
    add_source(&a, 0);
    add_timer(&t, 0.02, 0);
    watch(MODE);
    CFRunLoopRun();
    show("CFRunLoopRun");
}

int main(void) { return on_thread(test); }
