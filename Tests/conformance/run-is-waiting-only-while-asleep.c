/* Semantics 1: IsWaiting is true only while the loop sleeps, never in a callback, nor before or after a run. */
#include "trace.h"

static atomic_int said;

static void say_waiting(Item *item)
{
    (void)item;
    note(CFRunLoopIsWaiting(HERE) ? "waiting" : "busy");
    atomic_fetch_add(&said, 1);
}

/* CoreFoundation's IsWaiting is true for a moment, too, when the pass that has performed the source looks for events without sleeping. So
 * this waits until the observer has been notified, in the next pass, that the loop is about to sleep. */
static void look_and_stop(CFRunLoopRef loop)
{
    while (atomic_load(&said) < 8 || !CFRunLoopIsWaiting(loop))
        usleep(500);
    note(CFRunLoopIsWaiting(loop) ? "seen-waiting" : "seen-busy");
    CFRunLoopStop(loop);
}

static void test(void)
{
    static Item a = {.name = "A", .action = say_waiting}, o = {.name = "", .action = say_waiting};
    CFRunLoopSourceSignal(add_source(&a, 0));
    add_observer(&o, kCFRunLoopAllActivities, true, 0);
    say_waiting(NULL);
    run_with_helper("run", AGES, false, look_and_stop);
    say_waiting(NULL);
    show("afterwards");
}

int main(void) { return on_thread(test); }
