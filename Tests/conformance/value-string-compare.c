/* Values: CFStringCompare without options orders by code units: less, equal, greater. */
#include "trace.h"

static void compare(const char *one, const char *two)
{
    CFStringRef first = CFStringCreateWithCString(NULL, one, kCFStringEncodingUTF8);
    CFStringRef second = CFStringCreateWithCString(NULL, two, kCFStringEncodingUTF8);
    note("%d", (int)CFStringCompare(first, second, 0));
    CFRelease(first);
    CFRelease(second);
}

int main(void)
{
    compare("a", "b");
    compare("b", "a");
    compare("a", "a");
    compare("a", "ab");
    compare("", "a");
    compare("B", "a");
    compare("z", "\xc3\xa9");
    show("compared");
    return 0;
}
