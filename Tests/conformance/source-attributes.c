/* Semantics 2: GetOrder and GetContext return the values given to Create. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"};
    create_scheduled_source(&a, -42);
    CFRunLoopSourceContext copy = {.version = 0};
    CFRunLoopSourceGetContext(a.source, &copy);
    note("order %ld version %ld", (long)CFRunLoopSourceGetOrder(a.source), (long)copy.version);
    check("info", copy.info == &a);
    check("schedule", copy.schedule == item_schedule);
    check("cancel", copy.cancel == item_cancel);
    check("perform", copy.perform == item_perform);
    check("no retain", copy.retain == NULL);
    check("valid", CFRunLoopSourceIsValid(a.source));
    check("type", CFGetTypeID(a.source) == CFRunLoopSourceGetTypeID());
    show("source");
}

int main(void) { return on_thread(test); }
