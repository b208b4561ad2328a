/* Semantics 2: when a thread exits, cancel is called once for each mode of a source (in no particular order). */
#include "trace.h"

static int cancelled[3];

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info, (void)loop;
    cancelled[CFEqual(mode, MODE) ? 0 : CFEqual(mode, OTHER) ? 1 : 2]++;
}

static void work(void)
{
    CFRunLoopSourceContext context = {.cancel = cancel};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddCommonMode(HERE, OTHER);
    CFRunLoopAddSource(HERE, source, COMMON);
    CFRunLoopAddSource(HERE, source, CFSTR("third"));
    CFRelease(source);
}

int main(void)
{
    pthread_join(start_thread(work), NULL);
    note("default %d other %d third %d", cancelled[0], cancelled[1], cancelled[2]);
    show("cancelled");
    return 0;
}
