/* Values: data that uses the program's own buffer. */
#include "trace.h"

int main(void)
{
    static const char mine[] = "a buffer that stays the program's";
    CFDataRef lent = CFDataCreateWithBytesNoCopy(NULL, (const UInt8 *)mine, 8, kCFAllocatorNull);
    char *block = strdup("a block from malloc");
    CFDataRef given = CFDataCreateWithBytesNoCopy(NULL, (const UInt8 *)block, 7, kCFAllocatorMalloc);
    note("%ld %.8s", (long)CFDataGetLength(lent), (const char *)CFDataGetBytePtr(lent));
    note("%ld %.7s", (long)CFDataGetLength(given), (const char *)CFDataGetBytePtr(given));
    show("bytes");
    CFDataRef same = CFDataCreate(NULL, (const UInt8 *)"a buffer", 8);
    check("equal", CFEqual(same, lent));
    check("same hash", CFHash(same) == CFHash(lent));
    CFDataRef copy = CFDataCreateCopy(NULL, lent);
    check("copy", CFEqual(copy, lent));
    show("compared");
    CFRelease(lent);
    CFRelease(given);
    CFRelease(same);
    note("%.33s", mine);
    show("still there");
    return 0;
}
