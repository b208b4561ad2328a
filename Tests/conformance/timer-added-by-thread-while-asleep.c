/* Semantics 3: a timer added by another thread takes effect while the loop sleeps, without WakeUp and without a
 * pass. */
#include "trace.h"

static Item t = {.name = "T", .action = stop};

static void add_t(CFRunLoopRef loop) { CFRunLoopAddTimer(loop, create_timer(&t, 0.02, 0), MODE); }

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    watch(MODE);
    run_with_helper("added", AGES, false, add_t);
}

int main(void) { return on_thread(test); }
