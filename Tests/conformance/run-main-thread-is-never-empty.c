/* Semantics 1: on the main thread a common mode is never empty, because it serves libdispatch's main queue. A mode
 * that is not common can be empty, and so can every mode of another thread. */
#include "trace.h"

static void elsewhere(void)
{
    watch(MODE);
    run("another thread", MODE, SOON, false);
}

int main(void)
{
    watch(MODE);
    run("default mode", MODE, SOON, false);
    run("until a source is handled", MODE, SOON, true);
    run("without time", MODE, 0, false);
    run("less than no time", MODE, -1, true);
    CFRunLoopAddCommonMode(HERE, OTHER);
    watch(OTHER);
    run("another common mode", OTHER, SOON, true);
    run("a mode that is not common", CFSTR("third"), SOON, false);
    return on_thread(elsewhere);
}
