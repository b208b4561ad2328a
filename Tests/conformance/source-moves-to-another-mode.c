/* Semantics 2: if a source's perform moves it to another mode, this mode is empty: Finished; the other mode serves
 * it. */
#include "trace.h"

static void move(Item *item)
{
    CFRunLoopRemoveSource(HERE, item->source, MODE);
    CFRunLoopAddSource(HERE, item->source, OTHER);
    CFRunLoopSourceSignal(item->source);
}

static void test(void)
{
    static Item a = {.name = "A", .action = move};
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("default", MODE, AGES, false);
    a.action = NULL;
    run("other", OTHER, AGES, true);
}

int main(void) { return on_thread(test); }
