/* values.c - comparing, converting and formatting random strings, numbers, dates and data. Prints every result. */
#include "pool.h"

static void number_steps(CFNumberRef number)
{
    /* Not the 8-bit and 16-bit types: difference 2 of RLNumber.h. */
    static const CFNumberType types[] = {
        kCFNumberSInt32Type, kCFNumberSInt64Type,  kCFNumberFloat32Type,   kCFNumberFloat64Type,
        kCFNumberIntType,    kCFNumberLongType,    kCFNumberLongLongType,  kCFNumberFloatType,
        kCFNumberDoubleType, kCFNumberCFIndexType, kCFNumberNSIntegerType, kCFNumberCGFloatType,
    };
    CFNumberType type = types[pick(sizeof types / sizeof *types)];
    union {
        unsigned char bytes[16];
        long long align;
    } value = {{0}};
    int exact = CFNumberGetValue(number, type, value.bytes);
    printf(" %ld/%ld/%d %d:", (long)CFNumberGetType(number), (long)CFNumberGetByteSize(number),
           CFNumberIsFloatType(number), exact);
    for (int i = 0; i < 8 && exact; i++) /* otherwise difference 4 of RLNumber.h */
        printf("%02x", value.bytes[i]);
}

static void string_steps(CFStringRef one, CFStringRef two)
{
    char buffer[80] = "?";
    CFIndex size = 2 + (CFIndex)pick(20); /* for size 1 CoreFoundation writes nothing and reports success */
    int fits = CFStringGetCString(one, buffer, size, kCFStringEncodingUTF8);
    printf(" len %ld fits %ld %d", (long)CFStringGetLength(one), (long)size, fits);
    if (fits)
        printf(" '%s'", buffer);
    printf(" cmp %ld pre %d suf %d int %d dbl %.17g", (long)CFStringCompare(one, two, 0), CFStringHasPrefix(one, two),
           CFStringHasSuffix(one, two), (int)CFStringGetIntValue(one), CFStringGetDoubleValue(one));
    printf(" num %ld", (long)CFStringCompare(one, two, kCFCompareNumerically));
    CFDataRef data =
        CFStringCreateExternalRepresentation(NULL, one, pick(2) ? kCFStringEncodingUTF8 : kCFStringEncodingASCII, 0);
    printf(" ext %ld", data ? (long)CFDataGetLength(data) : -1L);
    if (data)
        CFRelease(data);
}

static void format_step(void)
{
    static const char *const flags[] = {"", "-", "0", "+", " ", "#"};
    static const char *const widths[] = {"", "1", "4", "12"};
    static const char *const precisions[] = {"", ".0", ".1", ".5"};
    static const char *const integers[] = {"d", "i", "u", "x", "X", "o", "hd", "hhu", "hhx"};
    static const char *const longs[] = {"ld", "lu", "llx", "lld", "zd", "jd", "td", "qd"};
    static const char *const reals[] = {"f", "e", "g", "G", "E", "a"};
    static const char *const texts[] = {"", "text", "é", "日x", "\xFF", "\xEF\xBB\xBFmarked"};
    static const UniChar units[][4] = {{0}, {'a', 'b', 0}, {0xE9, 0x20AC, 'c', 0}};
    char format[40];
    CFStringRef result = NULL, object = NULL;
    unsigned kind = pick(7);
    const char *conversion = kind == 0   ? integers[pick(9)]
                             : kind == 1 ? longs[pick(8)]
                             : kind == 2 ? reals[pick(6)]
                             : kind == 3 ? "s"
                             : kind == 4 ? "c"
                             : kind == 5 ? "S"
                                         : "@";
    const char *flag = kind < 3 ? flags[pick(6)] : flags[pick(2)];
    const char *width = kind == 6 ? "" : widths[pick(4)];
    const char *precision = kind == 4 || kind == 6 ? "" : precisions[pick(4)];
    snprintf(format, sizeof format, "<%%%s%s%s%s>%%%%", kind == 6 ? "" : flag, width, precision, conversion);
    CFStringRef pattern = CFStringCreateWithCString(NULL, format, kCFStringEncodingUTF8);
    long long bits = (long long)pick_bits();
    if (kind == 0)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, (int)bits);
    else if (kind == 1)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, bits);
    else if (kind == 2)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, pick_double());
    else if (kind == 3)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, texts[pick(6)]);
    else if (kind == 4)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, (pick(2) ? ' ' : 0xA0) + (int)pick(94));
    else if (kind == 5)
        result = CFStringCreateWithFormat(NULL, NULL, pattern, units[pick(3)]);
    else
        result = CFStringCreateWithFormat(NULL, NULL, pattern, object = make_string());
    char buffer[600] = "NULL";
    if (result)
        CFStringGetCString(result, buffer, sizeof buffer, kCFStringEncodingUTF8);
    printf(" %s -> %s", format, buffer);
    CFRelease(pattern);
    if (result)
        CFRelease(result);
    if (object)
        CFRelease(object);
}

static void script(unsigned long seed)
{
    fill_pool();
    for (int step = 0; step < STEPS; step++) {
        CFTypeRef one = pool[pick(POOL)], two = pool[pick(POOL)];
        CFTypeID kind = CFGetTypeID(one);
        int same = CFEqual(one, two);
        printf("%lu.%d: equal %d%s", seed, step, same, same && CFHash(one) != CFHash(two) ? " but not the hash" : "");
        if (kind == CFNumberGetTypeID())
            number_steps(one);
        if (kind == CFNumberGetTypeID() && CFGetTypeID(two) == kind)
            printf(" cmp %ld", (long)CFNumberCompare(one, two, NULL));
        if (kind == CFDateGetTypeID() && CFGetTypeID(two) == kind)
            printf(" cmp %ld", (long)CFDateCompare(one, two, NULL));
        if (kind == CFStringGetTypeID() && CFGetTypeID(two) == kind)
            string_steps(one, two);
        format_step();
        printf("\n");
    }
    empty_pool();
}

int main(int count, char **arguments) { return run_scripts(count, arguments, script); }
