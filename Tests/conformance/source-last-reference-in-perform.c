/* Semantics 2: a source may drop its last reference in its own perform; it is freed after perform has returned. */
#include "trace.h"

static void leave(Item *item)
{
    CFRunLoopRemoveSource(HERE, item->source, MODE);
    note("still-here");
}

static void release(const void *info) { note("release(%s)", ((const Item *)info)->name); }

static void test(void)
{
    static Item a = {.name = "A", .action = leave};
    CFRunLoopSourceContext context = {.info = &a, .release = release, .perform = item_perform};
    a.source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopSourceSignal(a.source);
    CFRelease(a.source);
    watch(MODE);
    run("run", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
