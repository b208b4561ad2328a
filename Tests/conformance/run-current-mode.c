/* Semantics 1: CopyCurrentMode is NULL outside of a run, and the innermost run's mode inside; after a nested run it
 * is the outer mode again. */
#include "trace.h"

static void say_mode(Item *item)
{
    (void)item;
    note("in(%s)", text(CFRunLoopCopyCurrentMode(HERE)));
}

static void nest(Item *item)
{
    say_mode(item);
    run_nested(OTHER, 0, false);
    say_mode(item);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest}, inner = {.name = "I", .action = say_mode};
    static Item o = {.name = "o", .action = say_mode};
    CFRunLoopSourceSignal(add_source(&outer, 0));
    CFRunLoopAddSource(HERE, create_source(&inner, 0), OTHER);
    CFRunLoopSourceSignal(inner.source);
    add_observer(&o, kCFRunLoopEntry | kCFRunLoopExit, true, 0);
    say_mode(NULL);
    run("run", MODE, 0, false);
    say_mode(NULL);
    show("afterwards");
}

int main(void) { return on_thread(test); }
