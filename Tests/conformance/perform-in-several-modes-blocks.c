/* Semantics 4: the modes of a block can be a name, the common modes, or an array of names; it runs once, in the
 * first of them that runs. */
#include "trace.h"

static void test(void)
{
    CFStringRef third = CFSTR("third");
    const void *names[] = {OTHER, third};
    CFArrayRef modes = CFArrayCreate(NULL, names, 2, &kCFTypeArrayCallBacks);
    CFRunLoopPerformBlock(HERE, modes, ^{ note("array"); });
    run("default", MODE, 0, false);
    run("third", third, 0, false);
    run("other", OTHER, 0, false);
    CFRunLoopPerformBlock(HERE, COMMON, ^{ note("common"); });
    run("other", OTHER, 0, false);
    CFRunLoopAddCommonMode(HERE, OTHER);
    run("other, common now", OTHER, 0, false);
    const void *with_common[] = {third, COMMON};
    CFRunLoopPerformBlock(HERE, CFArrayCreate(NULL, with_common, 2, &kCFTypeArrayCallBacks), ^{ note("both"); });
    run("default", MODE, 0, false);
}

int main(void) { return on_thread(test); }
