/* Semantics 1: in a program's own loop, while (!done) CFRunLoopRunInMode(…), each run sleeps, although the main
 * thread's loop is empty. */
#include "trace.h"

static atomic_bool done;

static void set_done(CFRunLoopRef loop)
{
    (void)loop;
    usleep(50000);
    atomic_store(&done, true);
}

int main(void)
{
    Helper helper;
    int runs = 0, others = 0;
    when_asleep(&helper, set_done);
    while (!atomic_load(&done)) {
        others += CFRunLoopRunInMode(MODE, 0.01, false) != kCFRunLoopRunTimedOut;
        runs++;
    }
    finish(&helper);
    check("some runs", runs > 0);
    check("few runs", runs < 100);
    note("%d did not time out", others);
    show("main");
    return 0;
}
