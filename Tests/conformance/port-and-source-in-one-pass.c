/* Semantics 8: a signalled version-0 source goes first; a ready version-1 source is still performed in the same
 * pass. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, p = {.name = "P"};
    add_port(&p, -5);
    CFRunLoopSourceSignal(add_source(&a, 0));
    make_ready(&p);
    watch(MODE);
    run("returning", MODE, AGES, true);
    run("nothing left", MODE, 0, true);
}

int main(void) { return on_thread(test); }
