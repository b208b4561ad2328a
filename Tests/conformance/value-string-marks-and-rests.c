/* Values: byte order marks at the beginning, incomplete code units at the end, bytes from 0x80 on in ASCII, UTF-32 without a mark,
 * and a character that Mac Roman lacks. */
#include "trace.h"

static void make(const char *label, CFStringEncoding encoding, const void *bytes, CFIndex count)
{
    for (int external = 0; external < 2; external++) {
        UInt8 units[64];
        CFIndex used = 0;
        CFStringRef string = CFStringCreateWithBytes(NULL, bytes, count, encoding, external != 0);
        if (string == NULL) {
            note("NULL");
            continue;
        }
        CFRange all = CFRangeMake(0, CFStringGetLength(string));
        CFStringGetBytes(string, all, kCFStringEncodingUTF16BE, 0, false, units, sizeof units, &used);
        note("%ld:", (long)all.length);
        for (CFIndex i = 0; i < used; i += 2)
            note("%x", units[i] << 8 | units[i + 1]);
        CFRelease(string);
    }
    show(label);
}

static void lose(const char *label, CFStringEncoding encoding)
{
    UInt8 buffer[16] = "";
    CFIndex used = 0;
    CFStringRef string = CFStringCreateWithCString(NULL, "a\xF0\x9F\x98\x80z\xE6\x97\xA5", kCFStringEncodingUTF8);
    for (CFIndex start = 0; start < 5; start++) {
        CFIndex taken =
            CFStringGetBytes(string, CFRangeMake(start, 5 - start), encoding, '?', false, buffer, 16, &used);
        note("%ld '%.*s'", (long)taken, (int)used, (char *)buffer);
    }
    CFDataRef data = CFStringCreateExternalRepresentation(NULL, string, encoding, '_');
    note("'%.*s'", (int)CFDataGetLength(data), (const char *)CFDataGetBytePtr(data));
    CFRelease(data);
    CFRelease(string);
    show(label);
}

int main(void)
{
    make("UTF-8 with a mark", kCFStringEncodingUTF8, "\xEF\xBB\xBF\xC3\xA9", 5);
    make("UTF-8, only a mark", kCFStringEncodingUTF8, "\xEF\xBB\xBF", 3);
    make("UTF-8, two marks", kCFStringEncodingUTF8, "\xEF\xBB\xBF\xEF\xBB\xBF", 6);
    make("UTF-8, a later mark", kCFStringEncodingUTF8, "a\xEF\xBB\xBF", 4);
    make("UTF-8, wrong after the mark", kCFStringEncodingUTF8, "\xEF\xBB\xBF\xFF", 4);
    make("ASCII", kCFStringEncodingASCII, "caf\xE9 \x80\xFF", 7);
    make("UTF-16 and a byte", kCFStringEncodingUTF16, "\0a\0", 3);
    make("UTF-16BE and a byte", kCFStringEncodingUTF16BE, "\0a\0", 3);
    make("UTF-16LE and a byte", kCFStringEncodingUTF16LE, "a\0b", 3);
    make("a byte of UTF-16LE", kCFStringEncodingUTF16LE, "a", 1);
    make("UTF-32LE and bytes", kCFStringEncodingUTF32LE, "a\0\0\0bcd", 7);
    make("UTF-32BE and bytes", kCFStringEncodingUTF32BE, "\0\0\0ab", 5);
    make("three bytes of UTF-32", kCFStringEncodingUTF32, "abc", 3);
    make("UTF-32, high byte first", kCFStringEncodingUTF32, "\0\1\xF6\0", 4);
    make("UTF-32, low byte first", kCFStringEncodingUTF32, "a\0\0\0", 4);
    make("UTF-32 with a mark", kCFStringEncodingUTF32, "\xFF\xFE\0\0a\0\0\0", 8);
    lose("Mac Roman", kCFStringEncodingMacRoman);
    lose("Latin 1", kCFStringEncodingISOLatin1);
    lose("ASCII", kCFStringEncodingASCII);
    CFStringRef string = CFStringCreateWithCString(NULL, "\xEF\xBB\xBFtext", kCFStringEncodingUTF8);
    note("%s", text(string));
    show("C string with a mark");
    CFRelease(string);
    return 0;
}
