/* Values: when a dictionary retains and releases keys and values, with the program's own callbacks. */
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
    CFDictionaryKeyCallBacks keys = {0, retain, release, NULL, equal, hash};
    CFDictionaryValueCallBacks values = {0, retain, release, NULL, equal};
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &keys, &values);
    CFDictionaryAddValue(dictionary, "key", "value");
    show("added");
    CFDictionaryAddValue(dictionary, "kind", "other");
    show("an equal key added");
    CFDictionarySetValue(dictionary, "kind", "other");
    show("set");
    CFDictionaryReplaceValue(dictionary, "kilo", "mine");
    show("replaced");
    CFDictionaryReplaceValue(dictionary, "none", "mine");
    show("another one replaced");
    CFMutableDictionaryRef copy = CFDictionaryCreateMutableCopy(NULL, 0, dictionary);
    show("copied");
    CFDictionarySetValue(copy, "key", "more");
    show("copy changed");
    check("equal by the first letter", CFEqual(copy, dictionary));
    check("has a value", CFDictionaryContainsValue(copy, "m"));
    note("%ld", (long)CFDictionaryGetCountOfValue(copy, "x"));
    show("compared");
    CFDictionaryRemoveValue(copy, "k");
    show("removed");
    CFRelease(copy);
    CFRelease(dictionary);
    show("released");
    return 0;
}
