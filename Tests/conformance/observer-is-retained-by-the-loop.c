/* Semantics 2: a loop retains its observers; one that does not repeat is freed after its callback if no other
 * reference to it is left. */
#include "trace.h"

static void release(const void *info) { note("release(%s)", ((const Item *)info)->name); }

static void test(void)
{
    static Item idle = {.name = "I"}, o = {.name = "o"};
    CFRunLoopObserverContext context = {.info = &o, .release = release};
    add_source(&idle, 0);
    watch(MODE);
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeSources, false, 1, item_observe, &context);
    CFRunLoopAddObserver(HERE, observer, MODE);
    CFRelease(observer);
    show("released by its creator");
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
