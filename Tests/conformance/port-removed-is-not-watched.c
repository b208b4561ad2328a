/* Semantics 8: a removed version-1 source is not watched, whatever its state; if it is ready when added again, that
 * is noticed. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"}, idle = {.name = "I"};
    add_source(&idle, 0);
    add_port(&p, 0);
    make_ready(&p);
    CFRunLoopRemoveSource(HERE, p.source, MODE);
    watch(MODE);
    run("removed", MODE, SOON, true);
    CFRunLoopAddSource(HERE, p.source, MODE);
    run("added again", MODE, 0, true);
    CFRunLoopSourceInvalidate(p.source);
    make_ready(&p);
    run("invalidated", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
