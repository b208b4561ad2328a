/* Difference 0: a version-1 source that is ready when the loop checks it is performed without BeforeWaiting and
 * AfterWaiting. */
#include "../trace.h"

static void test(void)
{
    static Item p = {.name = "P"}, q = {.name = "Q"};
    add_port(&p, 0);
    add_port(&q, 0);
    watch(MODE);
    make_ready(&p);
    run("one ready, returning", MODE, AGES, true);
    make_ready(&p);
    make_ready(&q);
    run("two ready", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
