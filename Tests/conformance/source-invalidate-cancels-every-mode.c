/* Semantics 2: Invalidate cancels once for each mode the source is in (in no particular order). */
#include "trace.h"

static int cancelled[3];

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info, (void)loop;
    if (CFEqual(mode, MODE))
        cancelled[0]++;
    else if (CFEqual(mode, OTHER))
        cancelled[1]++;
    else
        cancelled[2]++;
}

static void test(void)
{
    CFRunLoopSourceContext context = {.cancel = cancel};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddCommonMode(HERE, OTHER);
    CFRunLoopAddSource(HERE, source, COMMON);
    CFRunLoopAddSource(HERE, source, CFSTR("third"));
    CFRunLoopSourceInvalidate(source);
    note("default %d other %d third %d", cancelled[0], cancelled[1], cancelled[2]);
    show("cancelled");
    check("common", CFRunLoopContainsSource(HERE, source, COMMON));
    check("third", CFRunLoopContainsSource(HERE, source, CFSTR("third")));
    show("contained");
}

int main(void) { return on_thread(test); }
