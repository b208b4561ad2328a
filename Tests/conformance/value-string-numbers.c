/* Values: the numbers at the beginning of strings: spaces before and after the sign, ranges, and what ends a number. */
#include "trace.h"

static const char *const texts[] = {"7",
                                    " 7",
                                    "\t\n\v\f\r7",
                                    "\x01\x1F\x7F"
                                    "7",
                                    "\xC2\x85\xC2\xA0"
                                    "7",
                                    "\xE2\x80\x80\xE2\x80\x8B"
                                    "7",
                                    "\xE3\x80\x80"
                                    "7",
                                    "\xC2\xA1"
                                    "7",
                                    "\xE2\x80\x8C"
                                    "7",
                                    "- 7",
                                    "+\t7",
                                    "-\xC2\xA0"
                                    "7",
                                    "+ +7",
                                    "--7",
                                    "-+7",
                                    "- ",
                                    "-",
                                    "+",
                                    "",
                                    " ",
                                    "x7",
                                    "7x",
                                    "7 8",
                                    "007",
                                    "-0",
                                    "-0.0",
                                    "+0",
                                    "2147483647",
                                    "2147483648",
                                    "-2147483648",
                                    "-2147483649",
                                    "4294967296",
                                    "99999999999999999999",
                                    "-99999999999999999999",
                                    "00000000000000000000042",
                                    ".5",
                                    "-.5",
                                    "1.",
                                    "1..2",
                                    "1e3",
                                    "1E3",
                                    "1e+3",
                                    "1e-3",
                                    "1e",
                                    "1e+",
                                    "1 e3",
                                    ".e3",
                                    "1e400",
                                    "-1e400",
                                    "1e-400",
                                    "0.1",
                                    "1,5",
                                    "1_000",
                                    "0.30000000000000004",
                                    "123456789012345678901234567890",
                                    "\xD9\xA1",
                                    "\xEF\xBC\x91"};

int main(void)
{
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        CFStringRef string = CFStringCreateWithCString(NULL, texts[i], kCFStringEncodingUTF8);
        note("%u: %d %.17g", i, (int)CFStringGetIntValue(string), CFStringGetDoubleValue(string));
        show(texts[i]);
        CFRelease(string);
    }
    return 0;
}
