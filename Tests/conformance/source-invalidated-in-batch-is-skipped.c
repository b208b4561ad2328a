/* Semantics 2: a source invalidated by an earlier one of the same batch is not performed. */
#include "trace.h"

static Item victim = {.name = "V"};

static void invalidate_victim(Item *item)
{
    (void)item;
    CFRunLoopSourceInvalidate(victim.source);
}

static void test(void)
{
    static Item a = {.name = "A", .action = invalidate_victim}, last = {.name = "L"};
    CFRunLoopAddSource(HERE, create_scheduled_source(&victim, 1), MODE);
    CFRunLoopSourceSignal(victim.source);
    CFRunLoopSourceSignal(add_source(&last, 2));
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("invalidated", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
