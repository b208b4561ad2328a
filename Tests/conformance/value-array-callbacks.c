/* Values: when an array retains and releases its values, with the program's own callbacks. */
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

int main(void)
{
    CFArrayCallBacks callbacks = {0, retain, release, NULL, equal};
    const void *values[] = {"one", "two", "three"};
    CFArrayRef fixed = CFArrayCreate(NULL, values, 3, &callbacks);
    show("created");
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &callbacks);
    CFArrayAppendValue(array, values[0]);
    CFArrayAppendValue(array, values[0]);
    show("appended twice");
    CFArraySetValueAtIndex(array, 0, values[1]);
    show("set");
    CFArraySetValueAtIndex(array, 0, values[1]);
    show("set to itself");
    CFArrayRemoveValueAtIndex(array, 0);
    show("removed");
    CFArrayAppendArray(array, fixed, CFRangeMake(1, 2));
    show("array appended");
    CFArrayExchangeValuesAtIndices(array, 0, 1);
    show("exchanged");
    CFMutableArrayRef copy = CFArrayCreateMutableCopy(NULL, 0, fixed);
    show("copied");
    check("two by its first letter", CFArrayContainsValue(copy, CFRangeMake(0, 3), "tree"));
    note("%ld", (long)CFArrayGetFirstIndexOfValue(copy, CFRangeMake(0, 3), "tree"));
    note("%ld", (long)CFArrayGetLastIndexOfValue(copy, CFRangeMake(0, 3), "tree"));
    note("%ld", (long)CFArrayGetFirstIndexOfValue(copy, CFRangeMake(0, 1), "tree"));
    note("%ld", (long)CFArrayGetCountOfValue(copy, CFRangeMake(0, 3), "tree"));
    check("equal", CFEqual(copy, fixed));
    show("found");
    CFRelease(copy);
    show("copy released");
    CFArrayRemoveAllValues(array);
    show("all removed");
    CFRelease(fixed);
    CFRelease(array);
    show("released");
    return 0;
}
