/* Semantics 2: Signal from another thread does not wake a sleeping loop; the source is performed by the next run. */
#include "trace.h"

static Item a = {.name = "A"};

static void signal_a(CFRunLoopRef loop)
{
    (void)loop;
    CFRunLoopSourceSignal(a.source);
}

static void test(void)
{
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("signalled", 0.3, true, signal_a);
    run("next run", MODE, 0, true);
}

int main(void) { return on_thread(test); }
