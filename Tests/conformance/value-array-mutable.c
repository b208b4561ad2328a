/* Values: the functions that change an array. */
#include "trace.h"

static CFMutableArrayRef array;

static void see(const char *label)
{
    for (CFIndex i = 0; i < CFArrayGetCount(array); i++)
        note("%s", text(CFArrayGetValueAtIndex(array, i)));
    show(label);
}

int main(void)
{
    array = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    CFArrayAppendValue(array, CFSTR("b"));
    CFArrayInsertValueAtIndex(array, 0, CFSTR("a"));
    CFArrayInsertValueAtIndex(array, 2, CFSTR("d"));
    CFArrayInsertValueAtIndex(array, 2, CFSTR("c"));
    see("appended and inserted");
    CFArraySetValueAtIndex(array, 1, CFSTR("B"));
    CFArraySetValueAtIndex(array, 4, CFSTR("e"));
    see("set, also behind the last");
    CFArrayExchangeValuesAtIndices(array, 0, 4);
    CFArrayRemoveValueAtIndex(array, 2);
    see("exchanged and removed");
    const void *two[] = {CFSTR("x"), CFSTR("y"), CFSTR("z")};
    CFArrayReplaceValues(array, CFRangeMake(1, 2), two, 3);
    see("two replaced by three");
    CFArrayReplaceValues(array, CFRangeMake(0, 3), NULL, 0);
    CFArrayReplaceValues(array, CFRangeMake(0, 0), two, 1);
    see("three by none, none by one");
    CFArrayAppendArray(array, array, CFRangeMake(1, 2));
    see("itself appended");
    CFMutableArrayRef copy = CFArrayCreateMutableCopy(NULL, 0, array);
    CFArrayRef frozen = CFArrayCreateCopy(NULL, array);
    check("copies are equal", CFEqual(copy, array) && CFEqual(frozen, copy) && CFHash(frozen) == CFHash(array));
    CFArrayRemoveAllValues(array);
    check("the original is not", CFEqual(copy, array));
    note("%ld %ld %ld", (long)CFArrayGetCount(array), (long)CFArrayGetCount(copy), (long)CFArrayGetCount(frozen));
    show("copies");
    return 0;
}
