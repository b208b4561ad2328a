/* Semantics 1: WakeUp alone ends the sleep, not the run: the loop makes one more pass and sleeps again. */
#include "trace.h"

static void wake(CFRunLoopRef loop) { CFRunLoopWakeUp(loop); }

static void test(void)
{
    static Item a = {.name = "A"};
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("woken", 0.3, false, wake);
}

int main(void) { return on_thread(test); }
