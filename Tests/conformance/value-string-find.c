/* Values: searching in strings, splitting them, and comparing them case-insensitively. */
#include "trace.h"

static void find(const char *where, const char *what)
{
    static const CFStringCompareFlags options[] = {0,
                                                   kCFCompareBackwards,
                                                   kCFCompareAnchored,
                                                   kCFCompareAnchored | kCFCompareBackwards,
                                                   kCFCompareCaseInsensitive,
                                                   kCFCompareCaseInsensitive | kCFCompareBackwards,
                                                   kCFCompareNonliteral};
    CFStringRef string = CFStringCreateWithCString(NULL, where, kCFStringEncodingUTF8);
    CFStringRef part = CFStringCreateWithCString(NULL, what, kCFStringEncodingUTF8);
    for (int i = 0; i < 7; i++) {
        CFRange found = CFStringFind(string, part, options[i]);
        if (found.location == kCFNotFound)
            note("none");
        else
            note("%ld+%ld", (long)found.location, (long)found.length);
    }
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, string, part);
    note("| %ld:", (long)CFArrayGetCount(parts));
    for (CFIndex i = 0; i < CFArrayGetCount(parts); i++)
        note("'%s'", text(CFArrayGetValueAtIndex(parts, i)));
    note("| %d %d", (int)CFStringCompare(string, part, 0),
         (int)CFStringCompare(string, part, kCFCompareCaseInsensitive));
    CFRelease(parts);
    CFRelease(string);
    CFRelease(part);
    show(what);
}

int main(void)
{
    find("one two one", "one");
    find("one two one", "two");
    find("one two one", "One");
    find("one two one", "three");
    find("one", "one two");
    find("ONE", "one");
    find("one", "");
    find("", "one");
    find("", "");
    find("aaaa", "aa");
    find(",a,,b,", ",");
    find("\xE2\x82\xAC \xF0\x9F\x98\x80 x", "x");
    find("\xE2\x82\xAC \xF0\x9F\x98\x80 x", "\xF0\x9F\x98\x80");
    find("a_b", "A");
    find("aB", "Ab");
    find("Zebra", "apple");
    return 0;
}
