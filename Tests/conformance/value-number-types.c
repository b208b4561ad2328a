/* Values: how a number is stored, depending on the type it was created from. */
#include "trace.h"

int main(void)
{
    union {
        SInt64 whole;
        Float32 single;
        Float64 twice;
    } value;
    for (CFNumberType type = 1; type <= kCFNumberMaxType; type++) {
        Boolean is_float = type == 5 || type == 6 || type == 12 || type == 13 || type == 16;
        if (!is_float)
            value.whole = 100;
        else if (type == 5 || type == 12)
            value.single = 100.5f;
        else
            value.twice = 100.5;
        CFNumberRef number = CFNumberCreate(NULL, type, &value);
        note("%ld: %ld %ld %d", (long)type, (long)CFNumberGetType(number), (long)CFNumberGetByteSize(number),
             CFNumberIsFloatType(number));
        CFRelease(number);
    }
    show("types");
    check("infinity", CFNumberIsFloatType(kCFNumberPositiveInfinity));
    note("%ld %ld", (long)CFNumberGetType(kCFNumberNegativeInfinity), (long)CFNumberGetType(kCFNumberNaN));
    show("constants");
    check("is true", CFBooleanGetValue(kCFBooleanTrue));
    check("is false", CFBooleanGetValue(kCFBooleanFalse));
    int one = 1;
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &one);
    check("true is 1", CFEqual(kCFBooleanTrue, number));
    check("true is true", CFEqual(kCFBooleanTrue, kCFBooleanTrue));
    check("true is false", CFEqual(kCFBooleanTrue, kCFBooleanFalse));
    check("types differ", CFGetTypeID(number) != CFGetTypeID(kCFBooleanTrue) &&
                              CFGetTypeID(kCFBooleanTrue) == CFBooleanGetTypeID() &&
                              CFGetTypeID(number) == CFNumberGetTypeID());
    show("truth");
    return 0;
}
