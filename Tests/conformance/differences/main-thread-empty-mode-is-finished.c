/* Difference 1: on the main thread an empty common mode is Finished, as on any thread (CF: it stands for the main
 * dispatch queue). */
#include "../trace.h"

int main(void)
{
    watch(MODE);
    run("default mode", MODE, SOON, false);
    CFRunLoopAddCommonMode(HERE, OTHER);
    watch(OTHER);
    run("another common mode", OTHER, SOON, true);
    run("a mode that is not common", CFSTR("third"), SOON, false);
    return 0;
}
