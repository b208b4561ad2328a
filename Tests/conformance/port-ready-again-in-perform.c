/* Semantics 8: a source whose perform makes its descriptor ready again is performed again in the next pass. */
#include "trace.h"

static void again(Item *item)
{
    if (item->calls < 3)
        make_ready(item);
}

static void test(void)
{
    static Item p = {.name = "P", .action = again}, w = {.name = ""};
    add_port(&p, 0);
    make_ready(&p);
    add_observer(&w, kCFRunLoopBeforeTimers, true, 0);
    run("run", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
