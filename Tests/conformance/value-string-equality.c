/* Values: equality and hash of strings depend on their characters, however the strings were created. */
#include "trace.h"

int main(void)
{
    CFStringRef literal = CFSTR("a mode");
    CFStringRef made = CFStringCreateWithCString(NULL, "a mode", kCFStringEncodingUTF8);
    const UInt8 *bytes = (const UInt8 *)"a mode more";
    CFStringRef from_bytes = CFStringCreateWithBytes(NULL, bytes, 6, kCFStringEncodingASCII, false);
    CFStringRef longer = CFSTR("a mode more"), empty = CFSTR(""), capital = CFSTR("A mode");
    check("literal=made", CFEqual(literal, made));
    check("made=bytes", CFEqual(made, from_bytes));
    check("same hash", CFHash(literal) == CFHash(made) && CFHash(made) == CFHash(from_bytes));
    check("longer", CFEqual(literal, longer));
    check("capital", CFEqual(literal, capital));
    check("empty", CFEqual(literal, empty));
    check("two empty ones", CFEqual(empty, CFStringCreateWithCString(NULL, "", kCFStringEncodingUTF8)));
    show("equal");
    return 0;
}
