/* Values: an array keeps its values in order; with kCFTypeArrayCallBacks it compares values, without it compares
 * pointers. */
#include "trace.h"

int main(void)
{
    CFStringRef made = CFStringCreateWithCString(NULL, "two", kCFStringEncodingUTF8);
    const void *values[] = {CFSTR("one"), CFSTR("two"), CFSTR("three")};
    const void *others[] = {values[0], made, values[2]};
    CFArrayRef objects = CFArrayCreate(NULL, values, 3, &kCFTypeArrayCallBacks);
    CFArrayRef equal = CFArrayCreate(NULL, others, 3, &kCFTypeArrayCallBacks);
    CFArrayRef pointers = CFArrayCreate(NULL, values, 3, NULL);
    CFArrayRef empty = CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks);
    note("count %ld %ld", (long)CFArrayGetCount(objects), (long)CFArrayGetCount(empty));
    note("%s %s", text(CFArrayGetValueAtIndex(objects, 0)), text(CFArrayGetValueAtIndex(objects, 2)));
    show("values");
    check("equal value", CFArrayContainsValue(objects, CFRangeMake(0, 3), made));
    check("in a range without it", CFArrayContainsValue(objects, CFRangeMake(2, 1), made));
    check("by pointer", CFArrayContainsValue(pointers, CFRangeMake(0, 3), made));
    check("same pointer", CFArrayContainsValue(pointers, CFRangeMake(0, 3), values[1]));
    show("contains");
    check("equal arrays", CFEqual(objects, equal));
    check("same hash", CFHash(objects) == CFHash(equal));
    check("empty", CFEqual(objects, empty));
    show("equal");
    return 0;
}
