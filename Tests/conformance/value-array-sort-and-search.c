/* Values: sorting a part of an array, searching in a sorted array, applying a function to its values. */
#include "trace.h"

static CFComparisonResult compare(const void *one, const void *other, void *context)
{
    (void)context;
    return one < other ? kCFCompareLessThan : one > other ? kCFCompareGreaterThan : kCFCompareEqualTo;
}

static void see(const void *value, void *context) { note("%s%ld", (const char *)context, (long)value); }

int main(void)
{
    static const long numbers[] = {5, 3, 9, 1, 7, 3, 8, 2, 6, 4};
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 10, NULL);
    for (int i = 0; i < 10; i++)
        CFArrayAppendValue(array, (const void *)numbers[i]);
    CFArraySortValues(array, CFRangeMake(2, 6), compare, NULL);
    CFArrayApplyFunction(array, CFRangeMake(0, 10), see, "");
    show("a part");
    CFArraySortValues(array, CFRangeMake(0, 10), compare, NULL);
    CFArrayApplyFunction(array, CFRangeMake(1, 8), see, "#");
    show("all");
    for (long wanted = 0; wanted <= 10; wanted += 2)
        note("%ld", (long)CFArrayBSearchValues(array, CFRangeMake(0, 10), (const void *)wanted, compare, NULL));
    show("where they are");
    const void *values[3];
    CFArrayGetValues(array, CFRangeMake(4, 3), values);
    note("%ld %ld %ld", (long)values[0], (long)values[1], (long)values[2]);
    note("%ld", (long)CFArrayGetCountOfValue(array, CFRangeMake(0, 10), (const void *)3L));
    show("three of them");
    return 0;
}
