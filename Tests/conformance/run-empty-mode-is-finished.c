/* Semantics 1: a run of an empty mode is Finished immediately and calls no observer; observers alone do not fill a
 * mode. */
#include "trace.h"

static void test(void)
{
    run("nothing at all", MODE, AGES, false);
    watch(MODE);
    run("only an observer", MODE, AGES, false);
    run("only an observer, polled", MODE, 0, true);
}

int main(void) { return on_thread(test); }
