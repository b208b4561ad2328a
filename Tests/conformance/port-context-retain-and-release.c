/* Semantics 8: a version-1 source retains its info once, in Create, and releases it when it is freed. */
#include "trace.h"

static int info = 7;

static const void *retain(const void *pointer)
{
    note("retain");
    return pointer;
}

static void release(const void *pointer) { note("release(%d)", *(const int *)pointer); }
static int no_port(void *pointer) { return (void)pointer, -1; }
static void perform(void *pointer) { (void)pointer; }

static void test(void)
{
    CFRunLoopSourceContext1 context = {
        .version = 1, .info = &info, .retain = retain, .release = release, .getPort = no_port, .perform = perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    show("created");
    CFRunLoopSourceInvalidate(source);
    show("invalidated");
    CFRelease(source);
    show("released");
}

int main(void) { return on_thread(test); }
