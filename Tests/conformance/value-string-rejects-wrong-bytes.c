/* Values: bytes that are not in the encoding make no string. */
#include "trace.h"

int main(void)
{
    check("UTF-8", CFStringCreateWithCString(NULL, "caf\xc3\xa9", kCFStringEncodingUTF8) != NULL);
    check("truncated", CFStringCreateWithCString(NULL, "caf\xc3", kCFStringEncodingUTF8) != NULL);
    check("stray", CFStringCreateWithCString(NULL, "\xff", kCFStringEncodingUTF8) != NULL);
    show("strings");
    return 0;
}
