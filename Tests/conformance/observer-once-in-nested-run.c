/* Semantics 2: an observer that does not repeat and nests a run is not called again in it, and is invalid
 * afterwards. */
#include "trace.h"

static void nest(Item *item)
{
    run_nested(MODE, 0, false);
    check("valid", CFRunLoopObserverIsValid(item->observer));
}

static void test(void)
{
    static Item source = {.name = "S"}, o = {.name = "o", .action = nest};
    add_source(&source, 0);
    add_observer(&o, kCFRunLoopEntry | kCFRunLoopBeforeTimers, false, 0);
    run("outer", MODE, 0, false);
    check("valid", CFRunLoopObserverIsValid(o.observer));
    show("afterwards");
}

int main(void) { return on_thread(test); }
