/* Semantics 8: Invalidate in a version-1 source's own perform; as the last of its mode it makes the run Finished. */
#include "trace.h"

static void die(Item *item)
{
    CFRunLoopSourceInvalidate(item->source);
    check("contained", CFRunLoopContainsSource(HERE, item->source, MODE));
}

static void test(void)
{
    static Item p = {.name = "P", .action = die};
    add_port(&p, 0);
    make_ready(&p);
    run("run", MODE, AGES, false);
    run("empty", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
