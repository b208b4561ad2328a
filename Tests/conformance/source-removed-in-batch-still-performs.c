/* Semantics 2: a source removed by an earlier one of the same batch is still performed. */
#include "trace.h"

static Item victim = {.name = "V"};

static void remove_victim(Item *item)
{
    (void)item;
    CFRunLoopRemoveSource(HERE, victim.source, MODE);
}

static void test(void)
{
    static Item a = {.name = "A", .action = remove_victim};
    CFRunLoopAddSource(HERE, create_scheduled_source(&victim, 1), MODE);
    CFRunLoopSourceSignal(victim.source);
    CFRunLoopSourceSignal(add_source(&a, 0));
    watch(MODE);
    run("removed", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
