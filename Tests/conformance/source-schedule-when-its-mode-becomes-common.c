/* Semantics 2: a mode that becomes common schedules the sources of the common modes, except those it already
 * contains. */
#include "trace.h"

static void scheduled(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop;
    note("%s>%s", (const char *)info, text(mode));
}
static void cancelled(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop;
    note("%s<%s", (const char *)info, text(mode));
}
static void performed(void *info) { note("%s", (const char *)info); }

static CFRunLoopSourceRef make(const char *name, CFIndex order)
{
    CFRunLoopSourceContext context = {
        .info = (void *)(uintptr_t)name, .schedule = scheduled, .cancel = cancelled, .perform = performed};
    return CFRunLoopSourceCreate(NULL, order, &context);
}

int main(void)
{
    CFRunLoopSourceRef both = make("both", 1), own = make("own", 2);
    CFRunLoopAddSource(HERE, both, COMMON);
    CFRunLoopAddSource(HERE, both, OTHER);
    CFRunLoopAddSource(HERE, own, OTHER);
    show("in the common modes and in the other, and in the other alone");
    CFRunLoopAddCommonMode(HERE, OTHER);
    show("the other becomes common");
    CFRunLoopRemoveSource(HERE, both, OTHER);
    show("removed from the other");
    check("in the other", CFRunLoopContainsSource(HERE, both, OTHER));
    check("in the common", CFRunLoopContainsSource(HERE, both, COMMON));
    show("contained");
    CFRunLoopSourceSignal(both);
    CFRunLoopSourceSignal(own);
    CFRunLoopRunInMode(OTHER, 0, false);
    show("run");
    CFRunLoopRemoveSource(HERE, both, COMMON);
    show("removed from the common modes");
    return 0;
}
