/* Values: no string is created from bytes that are invalid in the encoding. */
#include "trace.h"

int main(void)
{
    check("UTF-8", CFStringCreateWithCString(NULL, "caf\xc3\xa9", kCFStringEncodingUTF8) != NULL);
    check("truncated", CFStringCreateWithCString(NULL, "caf\xc3", kCFStringEncodingUTF8) != NULL);
    check("stray", CFStringCreateWithCString(NULL, "\xff", kCFStringEncodingUTF8) != NULL);
    show("strings");
    return 0;
}
