/* Semantics 2: a loop retains its sources: a source released by its creator lives until it is removed. */
#include "trace.h"

static void release(const void *info) { note("release(%s)", ((const Item *)info)->name); }

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopSourceContext context = {.info = &a, .release = release, .perform = item_perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, source, MODE);
    CFRunLoopAddSource(HERE, source, OTHER);
    CFRelease(source);
    show("released by its creator");
    CFRunLoopSourceSignal(source);
    run("run", MODE, 0, false);
    CFRunLoopRemoveSource(HERE, source, MODE);
    show("removed from one mode");
    CFRunLoopRemoveSource(HERE, source, OTHER);
    show("removed from the other");
}

int main(void) { return on_thread(test); }
