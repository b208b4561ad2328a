/* Semantics 2: when a thread exits, cancel is called on that thread for version-0 sources of its loop; they stay
 * valid. */
#include "trace.h"

static pthread_t worker;
static CFRunLoopSourceRef source;

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info, (void)loop;
    note("cancel(%s)", text(mode));
    check("dying thread", pthread_equal(pthread_self(), worker));
}

static void work(void)
{
    CFRunLoopSourceContext context = {.cancel = cancel};
    worker = pthread_self();
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, source, MODE);
    note("exits");
}

int main(void)
{
    pthread_join(start_thread(work), NULL);
    check("valid", CFRunLoopSourceIsValid(source));
    show("after the thread");
    CFRelease(source);
    show("released");
    return 0;
}
