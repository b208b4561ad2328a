/* Values: prefixes and suffixes of strings, their numeric values, their maximum size in bytes, and conversion to
 * data. */
#include "trace.h"

int main(void)
{
    CFStringRef string = CFSTR("com.example.port");
    check("prefix", CFStringHasPrefix(string, CFSTR("com.")));
    check("no prefix", CFStringHasPrefix(string, CFSTR("example")));
    check("suffix", CFStringHasSuffix(string, CFSTR(".port")));
    check("no suffix", CFStringHasSuffix(string, CFSTR(".ports")));
    check("empty", CFStringHasPrefix(string, CFSTR("")) || CFStringHasSuffix(string, CFSTR("")));
    check("empty in empty", CFStringHasPrefix(CFSTR(""), CFSTR("")));
    check("itself", CFStringHasPrefix(string, string) && CFStringHasSuffix(string, string));
    check("longer", CFStringHasPrefix(CFSTR("com"), string));
    show("ends");
    note("%d %d %d %d", (int)CFStringGetIntValue(CFSTR("42")), (int)CFStringGetIntValue(CFSTR("  -17 apples")),
         (int)CFStringGetIntValue(CFSTR("x1")), (int)CFStringGetIntValue(CFSTR("")));
    note("%g %g %g", CFStringGetDoubleValue(CFSTR("2.5")), CFStringGetDoubleValue(CFSTR(" -1e3 metres")),
         CFStringGetDoubleValue(CFSTR("none")));
    show("numbers");
    note("%ld %ld", (long)CFStringGetMaximumSizeForEncoding(10, kCFStringEncodingASCII),
         (long)CFStringGetMaximumSizeForEncoding(10, kCFStringEncodingUTF8));
    show("size");
    CFStringRef word = CFStringCreateWithCString(NULL, "na\xC3\xAFve", kCFStringEncodingUTF8);
    CFDataRef data = CFStringCreateExternalRepresentation(NULL, word, kCFStringEncodingUTF8, 0);
    note("%ld bytes", (long)CFDataGetLength(data));
    CFStringRef back = CFStringCreateFromExternalRepresentation(NULL, data, kCFStringEncodingUTF8);
    check("back", CFEqual(back, word));
    CFDataRef lossy = CFStringCreateExternalRepresentation(NULL, word, kCFStringEncodingASCII, '?');
    note("%.*s", (int)CFDataGetLength(lossy), (const char *)CFDataGetBytePtr(lossy));
    check("refused", CFStringCreateExternalRepresentation(NULL, word, kCFStringEncodingASCII, 0) == NULL);
    CFStringRef copy = CFStringCreateCopy(NULL, word);
    check("copy", CFEqual(copy, word) && CFHash(copy) == CFHash(word));
    CFStringRef no_copy = CFStringCreateWithCStringNoCopy(NULL, "kept", kCFStringEncodingASCII, kCFAllocatorNull);
    CFStringRef freed =
        CFStringCreateWithCStringNoCopy(NULL, strdup("freed"), kCFStringEncodingASCII, kCFAllocatorMalloc);
    note("%s %s", text(no_copy), text(freed));
    show("data");
    return 0;
}
