/* Values: when a set retains and releases its values, with the program's own callbacks. */
#include "trace.h"

static const void *retain(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    note("+%s", (const char *)value);
    return value;
}

static void release(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    note("-%s", (const char *)value);
}

static Boolean equal(const void *one, const void *other) { return ((const char *)one)[0] == ((const char *)other)[0]; }
static CFHashCode hash(const void *value) { return (CFHashCode)((const char *)value)[0]; }

int main(void)
{
    CFSetCallBacks callbacks = {0, retain, release, NULL, equal, hash};
    CFMutableSetRef set = CFSetCreateMutable(NULL, 0, &callbacks);
    CFSetAddValue(set, "one");
    show("added");
    CFSetAddValue(set, "other");
    show("an equal one added");
    CFSetSetValue(set, "other");
    show("set");
    CFSetReplaceValue(set, "ours");
    show("replaced");
    CFSetReplaceValue(set, "two");
    show("another one replaced");
    CFSetRef copy = CFSetCreateCopy(NULL, set);
    show("copied");
    CFSetRemoveValue(set, "oh");
    show("removed");
    CFSetRemoveValue(set, "oh");
    show("removed again");
    CFRelease(copy);
    show("copy released");
    CFRelease(set);
    show("released");
    return 0;
}
