/* Semantics 2: Create calls the context's retain once, and freeing the source calls release once; Invalidate does
 * not release. */
#include "trace.h"

static int info = 7;

static const void *retain(const void *pointer)
{
    note("retain");
    return pointer;
}

static void release(const void *pointer) { note("release(%d)", *(const int *)pointer); }

static void test(void)
{
    CFRunLoopSourceContext context = {.info = &info, .retain = retain, .release = release}, copy = {.version = 0};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    show("created");
    CFRunLoopAddSource(HERE, source, MODE);
    CFRunLoopAddSource(HERE, source, OTHER);
    CFRunLoopSourceSignal(source);
    CFRunLoopRunInMode(MODE, 0, false);
    show("added to two modes and run");
    CFRunLoopSourceInvalidate(source);
    CFRunLoopSourceGetContext(source, &copy);
    check("info readable", copy.info == &info);
    show("invalidated");
    CFRelease(source);
    show("released");
}

int main(void) { return on_thread(test); }
