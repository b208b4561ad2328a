/* pool.h - random strings, numbers, dates and data. */
#ifndef POOL_H
#define POOL_H

#include "random.h"

#include <math.h>

enum { POOL = 24, STEPS = 60 };

static CFTypeRef pool[POOL];

static inline unsigned long long pick_bits(void)
{
    unsigned long long bits =
        ((unsigned long long)pick(1u << 31) << 33) ^ ((unsigned long long)pick(1u << 31) << 11) ^ pick(2048);
    return bits >> pick(64);
}

static inline double pick_double(void)
{
    static const double special[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     1e10,
                                     -1e300,
                                     127,
                                     128,
                                     255,
                                     256,
                                     65535,
                                     2147483647,
                                     2147483648.0,
                                     9223372036854775807.0,
                                     4503599627370497.5,
                                     INFINITY,
                                     -INFINITY,
                                     NAN};
    if (pick(2))
        return special[pick(sizeof special / sizeof *special)];
    return (double)(long long)pick_bits() / (1 + pick(1000));
}

static inline CFNumberRef make_number(void)
{
    long long integer = (long long)pick_bits() * (pick(2) ? 1 : -1);
    if (integer >= -1 && integer <= 12)
        integer += 20; /* for these CoreFoundation has one object each, with its own type */
    int8_t i8 = (int8_t)(integer % 100 + (integer < 0 ? -20 : 20));
    int16_t i16 = (int16_t)(integer % 30000 + (integer < 0 ? -20 : 20));
    int32_t i32 = (int32_t)(integer % 2000000000 + (integer < 0 ? -20 : 20));
    double real = pick_double();
    if (!isfinite((float)real))
        real = 3.25; /* CoreFoundation has one object for each */
    float narrow = (float)real;
    switch (pick(6)) {
    case 0:
        return CFNumberCreate(NULL, kCFNumberSInt8Type, &i8);
    case 1:
        return CFNumberCreate(NULL, kCFNumberSInt16Type, &i16);
    case 2:
        return CFNumberCreate(NULL, kCFNumberSInt32Type, &i32);
    case 3:
        return CFNumberCreate(NULL, kCFNumberSInt64Type, &integer);
    case 4:
        return CFNumberCreate(NULL, kCFNumberFloat32Type, &narrow);
    default:
        return CFNumberCreate(NULL, kCFNumberFloat64Type, &real);
    }
}

static inline CFStringRef make_string(void)
{
    static const char *const parts[] = {"a", "b",         "A", "0",  "42", "-7", " ", ".5", "e3",
                                        "é", "e\xcc\x81", "ß", "日", "😀",  "\t", "%", "zz", "2147483648"};
    char text[64] = "";
    for (unsigned count = 1 + pick(4); count > 0; count--)
        strcat(text, parts[pick(sizeof parts / sizeof *parts)]);
    return CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
}

static inline CFDataRef make_data(void)
{
    UInt8 bytes[8];
    CFIndex count = (CFIndex)pick(6);
    for (CFIndex i = 0; i < count; i++)
        bytes[i] = (UInt8)pick(4);
    return CFDataCreate(NULL, bytes, count);
}

static inline CFTypeRef make_value(void)
{
    switch (pick(6)) {
    case 0:
    case 1:
        return make_number();
    case 2:
    case 3:
        return make_string();
    case 4:
        return make_data();
    default:
        return CFDateCreate(NULL, (double)pick(4));
    }
}

/** Returns the object's position in the pool; in CoreFoundation equal numbers may be one object. */
static inline int place(const void *value)
{
    int is_number = value != NULL && CFGetTypeID(value) == CFNumberGetTypeID();
    for (int i = 0; i < POOL; i++)
        if (pool[i] == value || (is_number && CFEqual(pool[i], value)))
            return i;
    return -1;
}

static inline void fill_pool(void)
{
    for (int i = 0; i < POOL; i++)
        pool[i] = make_value();
}

static inline void empty_pool(void)
{
    for (int i = 0; i < POOL; i++)
        CFRelease(pool[i]);
}

#endif
