/* Semantics 1: a source that signals itself on every pass does not starve a due timer. */
#include "trace.h"

static Item timer = {.name = "T", .action = stop};

static void again(Item *item)
{
    CFRunLoopSourceSignal(item->source);
    if (item->calls == 2)
        add_timer(&timer, 0.02, 0);
}

static void test(void)
{
    static Item busy = {.name = NULL, .action = again};
    CFRunLoopSourceSignal(add_source(&busy, 0));
    run("run", MODE, AGES, false);
    check("source was performed more than once", busy.calls > 1);
    show("busy");
}

int main(void) { return on_thread(test); }
