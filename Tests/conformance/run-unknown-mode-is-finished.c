/* Semantics 1: a run of an unknown mode is Finished, and does not create the mode. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("unknown", CFSTR("never heard of"), AGES, false);
    CFArrayRef modes = CFRunLoopCopyAllModes(HERE);
    note("%ld", (long)CFArrayGetCount(modes));
    show("modes afterwards");
    run("default", MODE, 0, false);
}

int main(void) { return on_thread(test); }
