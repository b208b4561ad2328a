/* Difference 10: if another thread invalidates the last item of a sleeping loop, the run is Finished (CF: it sleeps
 * on, TimedOut). */
#include "../trace.h"

static Item a = {.name = "A"}, p = {.name = "P"}, t = {.name = "T"};

static void invalidate_source(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopSourceInvalidate(a.source);
}

static void invalidate_port(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopSourceInvalidate(p.source);
}

static void invalidate_timer(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopTimerInvalidate(t.timer);
}

static void test(void)
{
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("a source of version 0", 0.3, false, invalidate_source);
    add_port(&p, 0);
    run_with_helper("a source of version 1", 0.3, false, invalidate_port);
    add_timer(&t, AGES, 0);
    run_with_helper("a timer", 0.3, false, invalidate_timer);
}

int main(void) { return on_thread(test); }
