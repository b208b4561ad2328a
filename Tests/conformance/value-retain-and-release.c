/* Values: CFRetain returns its argument; an object is freed with its last reference, in any order of threads. */
#include "trace.h"

static CFRunLoopSourceRef source;

static void release(const void *info) { note("release(%s)", (const char *)info); }
static void drop(void) { CFRelease(source); }

static void test(void)
{
    CFRunLoopSourceContext context = {.info = "source", .release = release};
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    check("same", CFRetain(source) == source);
    CFRetain(source);
    CFRelease(source);
    show("one retain left over");
    on_thread(drop);
    show("released by another thread");
    drop();
    show("released");
}

int main(void) { return on_thread(test); }
