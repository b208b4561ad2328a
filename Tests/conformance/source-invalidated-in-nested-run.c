/* Semantics 2: a source invalidated by a run nested in its own perform stays usable until perform returns. */
#include "trace.h"

static Item a = {.name = "A"};

static void kill_a(Item *item)
{
    (void)item;
    CFRunLoopSourceInvalidate(a.source);
    CFRelease(a.source);
}

static void nest(Item *item)
{
    run_nested(OTHER, AGES, true);
    note("back-in(%s)", item->name);
}

static void release(const void *info) { note("release(%s)", ((const Item *)info)->name); }

static void test(void)
{
    static Item killer = {.name = "K", .action = kill_a};
    CFRunLoopSourceContext context = {.info = &a, .release = release, .cancel = item_cancel, .perform = item_perform};
    a.action = nest;
    a.source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopAddSource(HERE, create_source(&killer, 0), OTHER);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(killer.source);
    run("outer", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
