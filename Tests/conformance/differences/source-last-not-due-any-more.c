/* Difference 16: a pass that performed a source is followed by another one without sleep, even if the last of the
 * signalled sources was no longer due. (CF: the loop sleeps then, even if a source was signalled in the meantime.) */
#include "../trace.h"

static CFRunLoopSourceRef first, last;

static void perform_first(void *info)
{
    int *performed = info;
    note("first");
    CFRunLoopSourceInvalidate(last);
    if (++*performed == 1)
        CFRunLoopSourceSignal(first);
}
static void perform_last(void *info) { (void)info, note("last"); }

static void test(void)
{
    int performed = 0;
    CFRunLoopSourceContext context = {.info = &performed, .perform = perform_first};
    CFRunLoopAddSource(HERE, first = CFRunLoopSourceCreate(NULL, 1, &context), MODE);
    context.perform = perform_last;
    CFRunLoopAddSource(HERE, last = CFRunLoopSourceCreate(NULL, 2, &context), MODE);
    CFRunLoopSourceSignal(first);
    CFRunLoopSourceSignal(last);
    run("invalidated by the first", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
