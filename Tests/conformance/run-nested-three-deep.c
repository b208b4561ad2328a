/* Semantics 1: three nested activations each have their own mode, result and Stop. */
#include "trace.h"

static Item inner = {.name = "C"}, middle = {.name = "B"};

static void stop_inner(Item *item)
{
    note("in(%s)", text(CFRunLoopCopyCurrentMode(HERE)));
    stop(item);
}

static void nest_inner(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(inner.source);
    run_nested(CFSTR("third"), AGES, false);
    note("in(%s)", text(CFRunLoopCopyCurrentMode(HERE)));
}

static void nest_middle(Item *item)
{
    (void)item;
    CFRunLoopSourceSignal(middle.source);
    run_nested(OTHER, AGES, true);
    note("in(%s)", text(CFRunLoopCopyCurrentMode(HERE)));
}

static void test(void)
{
    static Item outer = {.name = "A", .action = nest_middle};
    middle.action = nest_inner;
    inner.action = stop_inner;
    CFRunLoopAddSource(HERE, create_source(&inner, 0), CFSTR("third"));
    CFRunLoopAddSource(HERE, create_source(&middle, 0), OTHER);
    CFRunLoopSourceSignal(add_source(&outer, 0));
    run("outer", MODE, 0, false);
}

int main(void) { return on_thread(test); }
