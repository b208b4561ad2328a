/* Semantics 1: Stop from another thread ends the innermost run; stopping again ends the outer one. */
#include "trace.h"

static void nest(Item *item)
{
    (void)item;
    Helper helper;
    when_asleep(&helper, stop_loop);
    run_nested(MODE, AGES, false);
    finish(&helper);
}

static void test(void)
{
    static Item outer = {.name = "O", .action = nest};
    CFRunLoopSourceSignal(add_source(&outer, 0));
    watch(MODE);
    CFRunLoopRunInMode(MODE, 0, false);
    show("nested in a polling run");
    outer.action = NULL;
    run_with_helper("outer", AGES, false, stop_loop);
}

int main(void) { return on_thread(test); }
