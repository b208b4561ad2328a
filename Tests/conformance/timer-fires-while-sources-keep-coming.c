/* Semantics 1: a source that signals itself on every pass does not starve a due timer. */
#include "trace.h"

static void again(Item *item) { CFRunLoopSourceSignal(item->source); }

static void test(void)
{
    static Item busy = {.name = NULL, .action = again}, t = {.name = "T", .action = stop};
    CFRunLoopSourceSignal(add_source(&busy, 0));
    add_timer(&t, 0.02, 0);
    run("run", MODE, AGES, false);
    check("source was performed more than once", busy.calls > 1);
    show("busy");
}

int main(void) { return on_thread(test); }
