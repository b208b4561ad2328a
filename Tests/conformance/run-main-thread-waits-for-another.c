/* Semantics 1: the main thread's empty loop sleeps until another thread stops it or adds something to it. */
#include "trace.h"

static Item a = {.name = "A"}, b = {.name = "B", .action = stop};

static void add_and_signal(CFRunLoopRef loop)
{
    CFRunLoopAddSource(loop, create_source(&a, 0), COMMON);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopWakeUp(loop);
}

static void add_timer_to(CFRunLoopRef loop) { CFRunLoopAddTimer(loop, create_timer(&b, 0.01, 0), MODE); }

int main(void)
{
    Helper helper;
    when_asleep(&helper, stop_loop);
    CFRunLoopRun();
    finish(&helper);
    show("CFRunLoopRun is stopped");

    run_with_helper("CFRunLoopRunInMode is stopped", AGES, false, stop_loop);
    run_with_helper("a source comes", AGES, true, add_and_signal);
    CFRunLoopSourceInvalidate(a.source);
    run_with_helper("a timer comes", AGES, false, add_timer_to);
    return 0;
}
