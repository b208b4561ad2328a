/* strings.c - random bytes as strings in random encodings, and random strings converted, found, compared and split.
 * Prints every result. Leaves out deliberate differences of RLString.h: halves of surrogate pairs, combining accents,
 * and the case of letters that are not ASCII. */
#include "random.h"

enum { STEPS = 24 };

static const struct {
    const char *name;
    CFStringEncoding encoding;
    CFIndex width;
} encodings[] = {
    {"Roman", kCFStringEncodingMacRoman, 1}, {"Latin1", kCFStringEncodingISOLatin1, 1},
    {"ASCII", kCFStringEncodingASCII, 1},    {"8", kCFStringEncodingUTF8, 1},
    {"16", kCFStringEncodingUTF16, 2},       {"16BE", kCFStringEncodingUTF16BE, 2},
    {"16LE", kCFStringEncodingUTF16LE, 2},   {"32", kCFStringEncodingUTF32, 4},
    {"32BE", kCFStringEncodingUTF32BE, 4},   {"32LE", kCFStringEncodingUTF32LE, 4},
};

static void print_bytes(const UInt8 *bytes, CFIndex count)
{
    for (CFIndex i = 0; i < count; i++)
        printf("%02x", bytes[i]);
}

/** Prints a string's UTF-16 code units, and releases it. */
static void print_units(const char *label, CFStringRef string)
{
    UInt8 bytes[200];
    CFIndex used = 0;
    printf(" %s", label);
    if (string == NULL) {
        printf("NULL");
        return;
    }
    CFRange all = CFRangeMake(0, CFStringGetLength(string));
    CFStringGetBytes(string, all, kCFStringEncodingUTF16BE, 0, false, bytes, sizeof bytes, &used);
    printf("%ld:", (long)all.length);
    print_bytes(bytes, used);
    CFRelease(string);
}

/** Writes a random character, which may be a byte-order mark but not half of a surrogate pair, in an encoding. Returns its size. */
static CFIndex put(UInt8 *bytes, CFStringEncoding encoding)
{
    static const char *const characters[] = {
        "a", "Z", "\x7F", "é", "ÿ", "π", "€", "日", "ﬁ", "\xEF\xBB\xBF", "\xEF\xBF\xBD", "😀", "0", " ", "\t"};
    CFIndex used = 0;
    CFStringRef string = CFStringCreateWithCString(NULL, characters[pick(15)], kCFStringEncodingUTF8);
    CFStringGetBytes(string, CFRangeMake(0, CFStringGetLength(string)), encoding, '?', pick(8) == 0, bytes, 8, &used);
    CFRelease(string);
    return used;
}

static void decode_step(void)
{
    UInt8 bytes[64] = {0};
    CFIndex count = 0;
    unsigned kind = pick(10);
    CFStringEncoding encoding = encodings[kind].encoding;
    CFIndex width = encodings[kind].width;
    for (unsigned more = pick(6); more > 0; more--)
        count += put(bytes + count, encoding);
    if (width == 1 && pick(3) == 0)
        bytes[count++] = (UInt8)(encoding == kCFStringEncodingUTF8 ? 0xB0 + pick(80) : pick(256));
    if (count >= width)
        count += (CFIndex)pick((unsigned)width); /* an incomplete unit */
    int is_external = (int)pick(2);
    printf(" %s/%d ", encodings[kind].name, is_external);
    print_bytes(bytes, count);
    print_units("bytes ", CFStringCreateWithBytes(NULL, bytes, count, encoding, is_external != 0));
    CFDataRef data = CFDataCreate(NULL, bytes, count);
    print_units("data ", CFStringCreateFromExternalRepresentation(NULL, data, encoding));
    CFRelease(data);
    if (width == 1)
        print_units("C ", CFStringCreateWithCString(NULL, (char *)bytes, encoding));
}

static CFStringRef make_string(unsigned most)
{
    static const char *const parts[] = {"a",  "b", "A", "B", "_", "[",  "Z",  "z", "0",  "00", "1", "9", "10", " ", "-",
                                        "ab", "é", "ÿ", "π", "€", "日", "中", "😀", "\t", "+",  ".", "e", "x",  "5"};
    char chars[100] = "";
    for (unsigned count = pick(most + 1); count > 0; count--)
        strcat(chars, parts[pick(pick(2) ? 29 : 16)]);
    return CFStringCreateWithCString(NULL, chars, kCFStringEncodingUTF8);
}

static void encode_step(CFStringRef string)
{
    UInt8 bytes[80];
    CFIndex length = CFStringGetLength(string), at = (CFIndex)pick((unsigned)length + 1), used = 0;
    CFRange range = CFRangeMake(at, (CFIndex)pick((unsigned)(length - at) + 1));
    unsigned kind = pick(10);
    CFStringEncoding encoding = encodings[kind].encoding;
    UInt8 loss = pick(2) ? '?' : 0;
    int is_external = (int)pick(2), only_count = (int)pick(4) == 0;
    /* With less room CoreFoundation may write more than fits, and in Mac Roman it may stop early. */
    CFIndex room = encoding == kCFStringEncodingMacRoman || pick(2) ? 80 : 4 + (CFIndex)pick(12);
    CFIndex taken =
        CFStringGetBytes(string, range, encoding, loss, is_external != 0, only_count ? NULL : bytes, room, &used);
    printf(" %s/%d/%d %ld+%ld in %ld: %ld, %ld ", encodings[kind].name, is_external, loss, (long)range.location,
           (long)range.length, (long)(only_count ? -1 : room), (long)taken, (long)used);
    print_bytes(bytes, only_count ? 0 : used);
    printf(" max %ld", (long)CFStringGetMaximumSizeForEncoding(length, encoding));
    CFDataRef data = CFStringCreateExternalRepresentation(NULL, string, encoding, loss);
    printf(" ext ");
    if (data == NULL) {
        printf("NULL");
        return;
    }
    print_bytes(CFDataGetBytePtr(data), CFDataGetLength(data));
    CFRelease(data);
}

static void pair_step(CFStringRef one, CFStringRef two)
{
    for (CFStringCompareFlags options = 1; options < 32; options += options == 1 ? 3 : 4) {
        CFRange found = CFStringFind(one, two, options);
        printf(" f%lu=%ld+%ld", (unsigned long)options, (long)found.location, (long)found.length);
    }
    printf(" c%ld i%ld n%ld", (long)CFStringCompare(one, two, 0),
           (long)CFStringCompare(one, two, kCFCompareCaseInsensitive),
           (long)CFStringCompare(one, two, kCFCompareNumerically | kCFCompareCaseInsensitive));
    printf(" p%d s%d e%d h%d", CFStringHasPrefix(one, two), CFStringHasSuffix(one, two), CFEqual(one, two),
           !CFEqual(one, two) || CFHash(one) == CFHash(two));
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, one, two);
    for (CFIndex i = 0; i < CFArrayGetCount(parts); i++)
        printf(" |%s", text(CFArrayGetValueAtIndex(parts, i)));
    CFRelease(parts);
}

static void script(unsigned long seed)
{
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", seed, step);
        CFStringRef one = make_string(6), two = make_string(2);
        unsigned what = pick(3);
        if (what == 0)
            decode_step();
        else
            printf(" '%s' '%s'", text(one), text(two));
        if (what == 1)
            encode_step(one);
        else if (what == 2)
            pair_step(one, two);
        printf("\n");
        CFRelease(one);
        CFRelease(two);
    }
}

int main(int count, char **arguments) { return run_scripts(count, arguments, script); }
