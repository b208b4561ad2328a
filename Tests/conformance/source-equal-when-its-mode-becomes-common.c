/* Semantics 2: a mode that becomes common does not accept a source of the common set if it contains an equal one. */
#include "trace.h"

static Boolean always_equal(const void *one, const void *two)
{
    (void)one, (void)two;
    return true;
}

static CFHashCode same_hash(const void *info)
{
    (void)info;
    return 7;
}

static CFRunLoopSourceRef create_equal(Item *item)
{
    CFRunLoopSourceContext context = {.info = item,
                                      .equal = always_equal,
                                      .hash = same_hash,
                                      .schedule = item_schedule,
                                      .cancel = item_cancel,
                                      .perform = item_perform};
    return item->source = CFRunLoopSourceCreate(NULL, 0, &context);
}

static Item a = {.name = "A"}, b = {.name = "B"}, c = {.name = "C"};

static void signal_and_run(const char *label)
{
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    CFRunLoopSourceSignal(c.source);
    run(label, OTHER, 0, false);
}

static void test(void)
{
    CFRunLoopAddSource(HERE, create_equal(&a), OTHER);
    CFRunLoopAddSource(HERE, create_equal(&b), COMMON);
    CFRunLoopAddSource(HERE, create_source(&c, 0), COMMON);
    show("added");
    CFRunLoopAddCommonMode(HERE, OTHER);
    signal_and_run("the mode becomes common");
    CFRunLoopRemoveSource(HERE, a.source, OTHER);
    signal_and_run("A leaves it");
    CFRunLoopAddSource(HERE, b.source, COMMON);
    signal_and_run("B is added again");
}

int main(void) { return on_thread(test); }
