/* Values: an array with kCFTypeArrayCallBacks retains its values and releases them when it is freed. */
#include "trace.h"

static void release(const void *info) { note("release(%s)", (const char *)info); }

static void test(void)
{
    CFRunLoopSourceContext context = {.info = "source", .release = release};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    const void *values[] = {source, source};
    CFArrayRef array = CFArrayCreate(NULL, values, 2, &kCFTypeArrayCallBacks);
    CFRelease(source);
    show("released by its creator");
    check("there", CFArrayGetValueAtIndex(array, 1) == source);
    CFRelease(array);
    show("array released");
}

int main(void) { return on_thread(test); }
