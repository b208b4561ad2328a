/* Values: creating strings from bytes in each encoding, and bytes from strings. */
#include "trace.h"

static const struct {
    const char *name;
    CFStringEncoding encoding;
} encodings[] = {{"ASCII", kCFStringEncodingASCII},       {"UTF-8", kCFStringEncodingUTF8},
                 {"Latin 1", kCFStringEncodingISOLatin1}, {"Mac Roman", kCFStringEncodingMacRoman},
                 {"UTF-16", kCFStringEncodingUTF16},      {"UTF-16BE", kCFStringEncodingUTF16BE},
                 {"UTF-16LE", kCFStringEncodingUTF16LE},  {"UTF-32", kCFStringEncodingUTF32},
                 {"UTF-32BE", kCFStringEncodingUTF32BE},  {"UTF-32LE", kCFStringEncodingUTF32LE}};

static void bytes_of(CFStringRef string, CFStringEncoding encoding, CFRange range, UInt8 loss, Boolean external,
                     CFIndex room)
{
    UInt8 buffer[64];
    CFIndex used = -1, needed = -1;
    CFIndex counted = CFStringGetBytes(string, range, encoding, loss, external, NULL, 0, &needed);
    CFIndex taken = CFStringGetBytes(string, range, encoding, loss, external, buffer, room, &used);
    note("%ld/%ld %ld/%ld", (long)counted, (long)needed, (long)taken, (long)used);
    for (CFIndex i = 0; i < used; i++)
        note("%02x", buffer[i]);
}

int main(void)
{
    static const char *const utf8[] = {"mode", "na\xC3\xAFve caf\xC3\xA9", "\xE2\x82\xAC and \xF0\x9F\x98\x80!", ""};
    CFStringRef texts[4];
    for (int t = 0; t < 4; t++)
        texts[t] = CFStringCreateWithCString(NULL, utf8[t], kCFStringEncodingUTF8);
    for (int i = 0; i < 10; i++) {
        for (int t = 0; t < 4; t++) {
            CFRange all = CFRangeMake(0, CFStringGetLength(texts[t]));
            bytes_of(texts[t], encodings[i].encoding, all, 0, false, 64);
            note("|");
            bytes_of(texts[t], encodings[i].encoding, all, t == 2 ? 0 : '?', true, 64);
            note("|");
            if (all.length > 3)
                bytes_of(texts[t], encodings[i].encoding, CFRangeMake(1, 3), '?', false, 7);
            show(encodings[i].name);
            CFDataRef data = CFStringCreateExternalRepresentation(NULL, texts[t], encodings[i].encoding, '?');
            CFStringRef back = CFStringCreateFromExternalRepresentation(NULL, data, encodings[i].encoding);
            if (t != 2) /* a missing character that has two UTF-16 units becomes one or two bytes in CF */
                note("%ld bytes, %s", (long)CFDataGetLength(data), text(back));
            CFRelease(data);
            CFRelease(back);
            show("there and back");
        }
        note("%ld", (long)CFStringGetMaximumSizeForEncoding(10, encodings[i].encoding));
        show("at most");
    }
    return 0;
}
