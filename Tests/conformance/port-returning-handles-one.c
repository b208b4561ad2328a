/* Semantics 8: with returnAfterSourceHandled one ready version-1 source ends the run; the other waits for the next
 * run. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"}, q = {.name = "Q"};
    add_port(&p, 0);
    add_port(&q, 0);
    make_ready(&p);
    make_ready(&q);
    run("first", MODE, AGES, true);
    run("second", MODE, AGES, true);
    run("third", MODE, 0, true);
}

int main(void) { return on_thread(test); }
