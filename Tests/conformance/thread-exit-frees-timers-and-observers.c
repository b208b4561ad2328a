/* Semantics 2: when a thread exits, timers and observers of its loop stay valid and may be added to another loop. */
#include "trace.h"

static Item t = {.name = "T"}, o = {.name = "o"};

static void work(void)
{
    add_timer(&t, 0, 60);
    add_observer(&o, kCFRunLoopEntry, true, 0);
}

static void test(void)
{
    pthread_join(start_thread(work), NULL);
    check("timer valid", CFRunLoopTimerIsValid(t.timer));
    check("observer valid", CFRunLoopObserverIsValid(o.observer));
    show("after the thread");
    CFRunLoopAddTimer(HERE, t.timer, MODE);
    CFRunLoopAddObserver(HERE, o.observer, MODE);
    run("in another loop", MODE, 0, false);
}

int main(void) { return on_thread(test); }
