/* Semantics 2: every callback of a source may be NULL; handling such a source still counts. */
#include "trace.h"

static void test(void)
{
    CFRunLoopSourceContext context = {.version = 0};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, source, MODE);
    CFRunLoopSourceSignal(source);
    watch(MODE);
    run("signalled", MODE, AGES, true);
    CFRunLoopSourceInvalidate(source);
    run("invalidated", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
