/* Semantics 1: CFRunLoopRun runs the default mode until it is empty; handled sources do not end it. */
#include "trace.h"

static void again_or_die(Item *item)
{
    if (item->calls < 3)
        CFRunLoopSourceSignal(item->source);
    else
        CFRunLoopSourceInvalidate(item->source);
}

static void test(void)
{
    static Item a = {.name = "A", .action = again_or_die};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    CFRunLoopRun();
    show("CFRunLoopRun");
    CFRunLoopRun();
    show("CFRunLoopRun with nothing");
}

int main(void) { return on_thread(test); }
