/* Values: CFStringCompare with kCFCompareNumerically compares digits by the number they represent, alone and
 * combined with other flags. */
#include "trace.h"

static const char texts[] = ",0,00,1,01,001,2,9,10,010,a,a0,a1,a01,a2,a10,a10b,a2b,a02b,A2,A10,1a,01a,1b,2a,10a,"
                            "1.5,1.10,1.05,-1,-2,+1, 1,/,:,1/2,1:2,x1y2,x01y2,x1y02,x1y10,x10y1,file9.txt,"
                            "file10.txt,File10.txt,\xE2\x82\xAC 2,\xE2\x82\xAC 10,\xD9\xA1,\xD9\xA2,"
                            "18446744073709551614,18446744073709551615,00000000000000000000000000001";

int main(void)
{
    static const CFStringCompareFlags options[] = {kCFCompareNumerically,
                                                   kCFCompareNumerically | kCFCompareCaseInsensitive,
                                                   kCFCompareNumerically | kCFCompareNonliteral};
    CFStringRef all = CFStringCreateWithCString(NULL, texts, kCFStringEncodingUTF8);
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, all, CFSTR(","));
    CFIndex count = CFArrayGetCount(parts);
    for (int kind = 0; kind < 3; kind++)
        for (CFIndex i = 0; i < count; i++) {
            CFStringRef one = CFArrayGetValueAtIndex(parts, i);
            for (CFIndex j = 0; j < count; j++)
                note("%d", (int)CFStringCompare(one, CFArrayGetValueAtIndex(parts, j), options[kind]));
            show(text(one));
        }
    CFRelease(parts);
    CFRelease(all);
    return 0;
}
