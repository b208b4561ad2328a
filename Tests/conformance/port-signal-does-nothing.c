/* Semantics 8: CFRunLoopSourceSignal does not make a version-1 source perform; only its descriptor does. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"};
    add_port(&p, 0);
    watch(MODE);
    CFRunLoopSourceSignal(p.source);
    run("signalled", MODE, SOON, true);
}

int main(void) { return on_thread(test); }
