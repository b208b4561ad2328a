/* Values: the null object is an ordinary object, equal to itself, which is never freed. */
#include "trace.h"

int main(void)
{
    const void *values[] = {kCFNull, kCFBooleanTrue};
    CFArrayRef array = CFArrayCreate(NULL, values, 2, &kCFTypeArrayCallBacks);
    check("of a kind of its own", CFNullGetTypeID() != CFBooleanGetTypeID());
    check("itself", CFEqual(kCFNull, kCFNull));
    check("false", CFEqual(kCFNull, kCFBooleanFalse));
    check("in an array", CFArrayGetValueAtIndex(array, 0) == kCFNull);
    note("first at %ld", CFArrayGetFirstIndexOfValue(array, CFRangeMake(0, 2), kCFNull));
    check("not there", CFArrayGetFirstIndexOfValue(array, CFRangeMake(1, 1), kCFNull) == kCFNotFound);
    for (int i = 0; i < 10; i++)
        CFRelease(kCFNull);
    check("after many releases", CFRetain(kCFNull) == kCFNull);
    CFStringRef words = CFCopyDescription(kCFNull);
    check("described", words != NULL);
    CFRelease(words);
    CFRelease(array);
    show("null");
    return 0;
}
