/* Values: converting a number to another type, and whether that is lossless. If not, the result is not compared; nor
 * are 128 and 32768, which CF converts to -128 and -32768 and reports as lossless. */
#include "trace.h"

static void see(CFNumberRef number, const char *label)
{
    SInt8 one = -99;
    SInt16 two = -99;
    SInt32 four = -99;
    SInt64 eight = -99;
    Float32 single = -99;
    Float64 twice = -99;
    CFNumberGetValue(number, kCFNumberSInt8Type, &one) ? note("%d", one) : note("lost");
    CFNumberGetValue(number, kCFNumberSInt16Type, &two) ? note("%d", two) : note("lost");
    CFNumberGetValue(number, kCFNumberIntType, &four) ? note("%d", four) : note("lost");
    CFNumberGetValue(number, kCFNumberLongType, &eight) ? note("%lld", (long long)eight) : note("lost");
    CFNumberGetValue(number, kCFNumberFloatType, &single) ? note("%g", (double)single) : note("lost");
    CFNumberGetValue(number, kCFNumberDoubleType, &twice) ? note("%.17g", twice) : note("lost");
    show(label);
}

int main(void)
{
    static const SInt64 integers[] = {0,
                                      1,
                                      -1,
                                      127,
                                      -128,
                                      -129,
                                      32767,
                                      65536,
                                      16777216,
                                      16777217,
                                      2147483647,
                                      2147483648,
                                      -2147483648,
                                      9007199254740992,
                                      9007199254740993};
    static const double doubles[] = {0.0, 0.5, 1.0, -1.0, 127.0, 128.0, 1e10, 0.1, 9007199254740992.0};
    char label[32];
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberSInt64Type, &integers[i]);
        snprintf(label, sizeof label, "%lld", (long long)integers[i]);
        see(number, label);
        CFRelease(number);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberDoubleType, &doubles[i]);
        snprintf(label, sizeof label, "%g", doubles[i]);
        see(number, label);
        CFRelease(number);
    }
    return 0;
}
