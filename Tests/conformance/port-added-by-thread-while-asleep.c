/* Semantics 3: a version-1 source added by another thread takes effect while the loop sleeps, without WakeUp. */
#include "trace.h"

static Item p = {.name = "P"};

static void add_ready_port(CFRunLoopRef loop)
{
    create_port(&p, 0);
    make_ready(&p);
    CFRunLoopAddSource(loop, p.source, MODE);
}

static void test(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    run_with_helper("added", AGES, true, add_ready_port);
}

int main(void) { return on_thread(test); }
