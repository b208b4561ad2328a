/* Semantics 8: a version-1 source in the common modes is watched in every member, even one that joins later. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"};
    CFRunLoopAddSource(HERE, create_port(&p, 0), COMMON);
    CFRunLoopAddCommonMode(HERE, OTHER);
    make_ready(&p);
    run("other", OTHER, AGES, true);
    make_ready(&p);
    run("default", MODE, AGES, true);
    CFRunLoopRemoveSource(HERE, p.source, COMMON);
    make_ready(&p);
    run("removed", OTHER, AGES, true);
}

int main(void) { return on_thread(test); }
