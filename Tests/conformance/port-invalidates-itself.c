/* Semantics 8: a version-1 source may invalidate itself in its perform; if it is the last of its mode, the run is
 * Finished. */
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
