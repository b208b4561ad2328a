/* Semantics 4: a source signalled by a block is performed in the same pass. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    CFRunLoopSourceRef source = add_source(&a, 0);
    watch(MODE);
    CFRunLoopPerformBlock(HERE, MODE, ^{
        note("b");
        CFRunLoopSourceSignal(source);
    });
    run("run", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
