/* Semantics 8: GetContext returns the complete context of a version-1 source if asked for version 1; its mode is not
 * empty. */
#include "trace.h"

static void test(void)
{
    static Item p = {.name = "P"};
    create_port(&p, 12);
    CFRunLoopSourceContext1 copy = {.version = 1};
    CFRunLoopSourceGetContext(p.source, (CFRunLoopSourceContext *)&copy);
    note("version %ld order %ld", (long)copy.version, (long)CFRunLoopSourceGetOrder(p.source));
    check("info", copy.info == &p);
    check("getPort", copy.getPort == item_port);
    check("perform", copy.perform == item_port_perform);
    check("valid", CFRunLoopSourceIsValid(p.source));
    show("context");
    CFRunLoopAddSource(HERE, p.source, MODE);
    run("only a port", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
