/* Values: data is a copy of its bytes; equality and hash depend on the contents; it may be empty. */
#include "trace.h"

int main(void)
{
    UInt8 bytes[] = {1, 0, 2, 255}, part[2];
    CFDataRef one = CFDataCreate(NULL, bytes, 4), two = CFDataCreate(NULL, bytes, 4);
    CFDataRef empty = CFDataCreate(NULL, NULL, 0);
    bytes[0] = 9;
    CFDataRef other = CFDataCreate(NULL, bytes, 4), shorter = CFDataCreate(NULL, CFDataGetBytePtr(one), 3);
    CFDataGetBytes(one, CFRangeMake(2, 2), part);
    note("length %ld first %d range %d %d", (long)CFDataGetLength(one), CFDataGetBytePtr(one)[0], part[0], part[1]);
    check("same", CFEqual(one, two));
    check("same hash", CFHash(one) == CFHash(two));
    check("other", CFEqual(one, other));
    check("shorter", CFEqual(one, shorter));
    check("empty", CFEqual(empty, CFDataCreate(NULL, bytes, 0)));
    note("empty %ld", (long)CFDataGetLength(empty));
    check("string", CFEqual(empty, CFSTR("")));
    show("data");
    return 0;
}
