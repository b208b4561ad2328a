/* Semantics 8: a pass performs one ready version-1 source: two ready ones take two passes, in the order of
 * readiness. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"}, q = {.name = "Q"}, w = {.name = ""};
    add_port(&q, -1); /* the order of a version-1 source is ignored */
    add_port(&p, 1);
    add_observer(&w, kCFRunLoopEntry | kCFRunLoopBeforeTimers | kCFRunLoopBeforeSources | kCFRunLoopExit, true, 0);
    make_ready(&p);
    make_ready(&q);
    run("two ready", MODE, SOON, false);
    make_ready(&p);
    make_ready(&q);
    run("0 s", MODE, 0, false);
    run("0 s again", MODE, 0, false);
    run("0 s again", MODE, 0, false);
}

int main(void) { return on_thread(test); }
