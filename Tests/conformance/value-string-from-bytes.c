/* Values: strings from bytes in encodings other than UTF-8, with and without a byte order mark, and C strings from
 * them. */
#include "trace.h"

static void make(const char *label, CFStringEncoding encoding, const void *bytes, CFIndex count)
{
    for (int external = 0; external < 2; external++) {
        CFStringRef string = CFStringCreateWithBytes(NULL, bytes, count, encoding, external != 0);
        note("%s", text(string));
        if (string != NULL)
            note("(%ld)", (long)CFStringGetLength(string));
        if (string != NULL)
            CFRelease(string);
    }
    show(label);
}

int main(void)
{
    static UInt8 all[128];
    char buffer[8];
    make("Latin 1", kCFStringEncodingISOLatin1, "caf\xE9 \xFF", 6);
    for (int half = 0; half < 8; half++) {
        for (int i = 0; i < 16; i++)
            all[i] = (UInt8)(128 + 16 * half + i);
        make("Mac Roman", kCFStringEncodingMacRoman, all, 16);
    }
    make("UTF-16BE", kCFStringEncodingUTF16BE, "\0a\x20\xAC\xD8\x3D\xDE\x00", 8);
    make("UTF-16LE", kCFStringEncodingUTF16LE, "a\0\xAC\x20\x3D\xD8\x00\xDE", 8);
    make("UTF-16", kCFStringEncodingUTF16, "a\0\xAC\x20", 4);
    make("UTF-32BE", kCFStringEncodingUTF32BE, "\0\0\0a\0\1\xF6\0", 8);
    make("UTF-32LE", kCFStringEncodingUTF32LE, "a\0\0\0\0\xF6\1\0", 8);
    make("UTF-16 with a mark", kCFStringEncodingUTF16, "\xFE\xFF\0a\x20\xAC", 6);
    make("UTF-32 with a mark", kCFStringEncodingUTF32, "\xFF\xFE\0\0a\0\0\0", 8);
    make("nothing", kCFStringEncodingUTF16, "", 0);
    make("beyond the last character", kCFStringEncodingUTF32LE, "\0\0\x11\0", 4);

    CFStringRef cafe = CFStringCreateWithCString(NULL, "caf\xE9", kCFStringEncodingISOLatin1);
    check("as C string", CFStringGetCString(cafe, buffer, sizeof buffer, kCFStringEncodingMacRoman));
    note("%02x %02x", (UInt8)buffer[3], (UInt8)buffer[4]);
    check("just fits", CFStringGetCString(cafe, buffer, 5, kCFStringEncodingISOLatin1));
    check("does not fit", CFStringGetCString(cafe, buffer, 4, kCFStringEncodingISOLatin1));
    check("not in it", CFStringGetCString(cafe, buffer, 8, kCFStringEncodingASCII));
    show("C strings");
    char *own = strdup("given away");
    CFStringRef given =
        CFStringCreateWithBytesNoCopy(NULL, (UInt8 *)own, 10, kCFStringEncodingASCII, false, kCFAllocatorMalloc);
    CFStringRef kept =
        CFStringCreateWithBytesNoCopy(NULL, (const UInt8 *)"kept", 4, kCFStringEncodingUTF8, false, kCFAllocatorNull);
    note("%s, %s", text(given), text(kept));
    CFRelease(given);
    CFRelease(kept);
    show("not copied");
    return 0;
}
