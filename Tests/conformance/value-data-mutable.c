/* Values: the functions that change data. */
#include "trace.h"

static CFMutableDataRef data;

static void see(const char *label)
{
    char copy[64];
    CFIndex length = CFDataGetLength(data);
    CFDataGetBytes(data, CFRangeMake(0, length), (UInt8 *)copy);
    for (CFIndex i = 0; i < length; i++)
        if (copy[i] == 0)
            copy[i] = '.';
    note("%ld <%.*s>", (long)length, (int)length, copy);
    show(label);
}

int main(void)
{
    data = CFDataCreateMutable(NULL, 0);
    see("empty");
    CFDataAppendBytes(data, (const UInt8 *)"hello", 5);
    CFDataAppendBytes(data, (const UInt8 *)" world", 6);
    see("appended");
    CFDataReplaceBytes(data, CFRangeMake(0, 5), (const UInt8 *)"goodbye", 7);
    see("replaced by more");
    CFDataReplaceBytes(data, CFRangeMake(8, 5), (const UInt8 *)"sun", 3);
    see("replaced by less");
    CFDataReplaceBytes(data, CFRangeMake(8, 0), (const UInt8 *)"my ", 3);
    see("inserted");
    CFDataDeleteBytes(data, CFRangeMake(0, 8));
    see("deleted");
    CFDataIncreaseLength(data, 2);
    CFDataGetMutableBytePtr(data)[6] = '!';
    see("increased and written");
    CFDataSetLength(data, 2);
    CFDataSetLength(data, 5);
    see("cut and grown");
    CFMutableDataRef copy = CFDataCreateMutableCopy(NULL, 0, data);
    CFDataRef frozen = CFDataCreateCopy(NULL, data);
    check("copies are equal", CFEqual(copy, data) && CFEqual(frozen, data) && CFHash(frozen) == CFHash(copy));
    CFDataSetLength(data, 0);
    check("not changed", CFDataGetLength(copy) == 5 && CFDataGetLength(frozen) == 5);
    check("same type", CFGetTypeID(data) == CFGetTypeID(frozen));
    show("copies");
    return 0;
}
