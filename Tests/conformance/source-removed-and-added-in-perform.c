/* Semantics 2: a source may be removed and added again in its own perform: cancel, then schedule, and the run
 * continues. */
#include "trace.h"

static void leave_and_return(Item *item)
{
    CFRunLoopRemoveSource(HERE, item->source, MODE);
    CFRunLoopAddSource(HERE, item->source, MODE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = leave_and_return};
    CFRunLoopAddSource(HERE, create_scheduled_source(&a, 0), MODE);
    CFRunLoopSourceSignal(a.source);
    watch(MODE);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
