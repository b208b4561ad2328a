/* Values: numbers are compared by value, whatever their types; NaN and the two zeros have a defined order. */
#include "trace.h"

int main(void)
{
    static const SInt64 integers[] = {-3, 0, 1, 9007199254740992, 9007199254740993};
    static const double doubles[] = {-3.0, -0.0, 0.0, 0.5, 1.0, 9007199254740992.0, 1e30};
    CFNumberRef numbers[16];
    int count = 0;
    for (int i = 0; i < 5; i++)
        numbers[count++] = CFNumberCreate(NULL, kCFNumberSInt64Type, &integers[i]);
    for (int i = 0; i < 7; i++)
        numbers[count++] = CFNumberCreate(NULL, kCFNumberDoubleType, &doubles[i]);
    numbers[count++] = kCFNumberPositiveInfinity;
    numbers[count++] = kCFNumberNegativeInfinity;
    numbers[count++] = kCFNumberNaN;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            if ((i == 0 && j == count - 1) || (j == 0 && i == count - 1))
                continue; /* CF orders NaN before negative integers, contrary to its documentation */
            CFComparisonResult order = CFNumberCompare(numbers[i], numbers[j], NULL);
            note("%s", order < 0 ? "<" : order > 0 ? ">" : "=");
            if (order == 0 && CFHash(numbers[i]) != CFHash(numbers[j]))
                note("hash!");
        }
        show("compared");
    }
    float small = 0.5f;
    CFNumberRef half = CFNumberCreate(NULL, kCFNumberFloatType, &small);
    check("float is double", CFEqual(half, numbers[8]) && CFHash(half) == CFHash(numbers[8]));
    check("integer is double", CFEqual(numbers[2], numbers[9]) && CFHash(numbers[2]) == CFHash(numbers[9]));
    check("number is string", CFEqual(half, CFSTR("0.5")));
    show("equal");
    return 0;
}
