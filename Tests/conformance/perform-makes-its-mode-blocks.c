/* Semantics 4: queueing a block creates its mode, as adding an item does. */
#include "trace.h"

static void test(void)
{
    CFRunLoopPerformBlock(HERE, OTHER, ^{ note("b"); });
    CFArrayRef modes = CFRunLoopCopyAllModes(HERE);
    note("%ld", (long)CFArrayGetCount(modes));
    show("modes");
    run("default", MODE, AGES, false);
    run("other", OTHER, 0, false);
}

int main(void) { return on_thread(test); }
