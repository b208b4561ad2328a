/* Semantics 8: if a version-1 source's descriptor becomes ready while the loop sleeps, the loop wakes and performs
 * it. */
#include "trace.h"

static Item p = {.name = "P"};

static void write_to_p(CFRunLoopRef loop)
{
    (void)loop;
    make_ready(&p);
}

static void test(void)
{
    add_port(&p, 0);
    watch(MODE);
    run_with_helper("returning", AGES, true, write_to_p);
    run_with_helper("going on", 0.3, false, write_to_p);
}

int main(void) { return on_thread(test); }
