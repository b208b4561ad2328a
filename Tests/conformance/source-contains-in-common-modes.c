/* Semantics 2: ContainsSource(common) checks the common set, not the member modes. */
#include "trace.h"

static void show_membership(const char *label, CFRunLoopSourceRef source)
{
    check("common", CFRunLoopContainsSource(HERE, source, COMMON));
    check("default", CFRunLoopContainsSource(HERE, source, MODE));
    check("other", CFRunLoopContainsSource(HERE, source, OTHER));
    check("unknown", CFRunLoopContainsSource(HERE, source, CFSTR("unknown")));
    show(label);
}

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"};
    CFRunLoopAddCommonMode(HERE, OTHER);
    create_source(&a, 0);
    create_source(&b, 0);
    show_membership("nowhere", a.source);
    CFRunLoopAddSource(HERE, a.source, COMMON);
    show_membership("added to common", a.source);
    CFRunLoopRemoveSource(HERE, a.source, MODE);
    show_membership("removed from one member", a.source);
    CFRunLoopSourceInvalidate(a.source);
    show_membership("invalidated", a.source);
    CFRunLoopAddSource(HERE, b.source, MODE);
    CFRunLoopAddSource(HERE, b.source, OTHER);
    show_membership("added to every member", b.source);
    CFRunLoopRemoveSource(HERE, b.source, COMMON);
    show_membership("removed from common, where it is not", b.source);
}

int main(void) { return on_thread(test); }
