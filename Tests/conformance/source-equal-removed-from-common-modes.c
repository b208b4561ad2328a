/* Semantics 2: a mode accepts one of several equal sources, and so does the common set. Removing one from the common
 * modes removes its equal. */
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
    CFRunLoopSourceContext context = {.info = item, .equal = always_equal, .hash = same_hash, .perform = item_perform};
    return item->source = CFRunLoopSourceCreate(NULL, 0, &context);
}

static Item a = {.name = "A"}, b = {.name = "B"};

static void begin(void)
{
    create_equal(&a);
    create_equal(&b);
    CFRunLoopAddCommonMode(HERE, OTHER);
}

/* Prints which modes contain the sources, and which of the two performs there. */
static void look(const char *label)
{
    CFStringRef modes[] = {MODE, OTHER, COMMON};
    for (int i = 0; i < 3; i++) {
        note("%s%s", CFRunLoopContainsSource(HERE, a.source, modes[i]) ? "A" : "-",
             CFRunLoopContainsSource(HERE, b.source, modes[i]) ? "B" : "-");
    }
    for (int i = 0; i < 2; i++) {
        CFRunLoopSourceSignal(a.source);
        CFRunLoopSourceSignal(b.source);
        run_nested(modes[i], 0, false);
    }
    show(label);
}

static void the_set_has_it(void)
{
    begin();
    CFRunLoopAddSource(HERE, a.source, COMMON);
    CFRunLoopAddSource(HERE, b.source, COMMON);
    look("both in the common modes");
    CFRunLoopRemoveSource(HERE, a.source, OTHER);
    CFRunLoopAddSource(HERE, b.source, COMMON);
    look("A removed from a mode, B added again");
    CFRunLoopRemoveSource(HERE, b.source, COMMON);
    look("B removed from the common modes");
}

static void removed_by_equality(void)
{
    begin();
    CFRunLoopAddSource(HERE, a.source, MODE);
    CFRunLoopAddSource(HERE, b.source, COMMON);
    CFRunLoopRemoveSource(HERE, b.source, COMMON);
    look("B removed, and A with it");
}

int main(void)
{
    on_thread(the_set_has_it);
    return on_thread(removed_by_equality);
}
