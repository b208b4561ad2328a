/* Values: finding bytes in data, forwards and backwards, anywhere and anchored. */
#include "trace.h"

static void find(CFDataRef data, const char *wanted, CFIndex start, CFIndex length, CFDataSearchFlags flags)
{
    CFDataRef pattern = CFDataCreate(NULL, (const UInt8 *)wanted, (CFIndex)strlen(wanted));
    CFRange found = CFDataFind(data, pattern, CFRangeMake(start, length), flags);
    note("%s:%ld+%ld", wanted, (long)found.location, (long)found.length);
    CFRelease(pattern);
}

int main(void)
{
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"abcabcab", 8);
    find(data, "abc", 0, 8, 0);
    find(data, "abc", 1, 7, 0);
    find(data, "abc", 4, 4, 0);
    find(data, "abcabcab", 0, 8, 0);
    find(data, "x", 0, 8, 0);
    show("forwards");
    find(data, "abc", 0, 8, kCFDataSearchBackwards);
    find(data, "abc", 0, 5, kCFDataSearchBackwards);
    find(data, "bca", 0, 8, kCFDataSearchBackwards);
    show("backwards");
    find(data, "abc", 0, 8, kCFDataSearchAnchored);
    find(data, "bca", 0, 8, kCFDataSearchAnchored);
    find(data, "cab", 0, 8, kCFDataSearchAnchored | kCFDataSearchBackwards);
    find(data, "abc", 0, 8, kCFDataSearchAnchored | kCFDataSearchBackwards);
    show("at an end");
    return 0;
}
