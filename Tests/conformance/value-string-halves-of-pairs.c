/* Values: ranges of a string that split a surrogate pair, and a pair that the encoding lacks, with small and
 * sufficient buffers. */
#include "trace.h"

int main(void)
{
    static const struct {
        const char *name;
        CFStringEncoding encoding;
    } encodings[] = {{"ASCII", kCFStringEncodingASCII},
                     {"Latin 1", kCFStringEncodingISOLatin1},
                     {"UTF-8", kCFStringEncodingUTF8},
                     {"UTF-16LE", kCFStringEncodingUTF16LE},
                     {"UTF-32LE", kCFStringEncodingUTF32LE}};
    CFStringRef string = CFStringCreateWithCString(NULL, "a\xF0\x9F\x98\x80z", kCFStringEncodingUTF8);
    CFIndex length = CFStringGetLength(string);
    for (int i = 0; i < 5; i++) {
        for (int with_loss = 0; with_loss < 2; with_loss++) {
            for (CFIndex start = 0; start < length; start++) {
                for (CFIndex end = start + 1; end <= length; end++) {
                    for (CFIndex room = 1; room <= 16; room += room < 4 ? 1 : 4) {
                        UInt8 buffer[16];
                        CFIndex used = -1;
                        note("%ld",
                             (long)CFStringGetBytes(string, CFRangeMake(start, end - start), encodings[i].encoding,
                                                    with_loss ? '?' : 0, false, buffer, room, &used));
                        for (CFIndex byte = 0; byte < used; byte++)
                            note("%02x", buffer[byte]);
                        note("|");
                    }
                    show(encodings[i].name);
                }
            }
        }
    }
    return 0;
}
