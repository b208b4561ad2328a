/* Values: dates are points in time that can be compared and subtracted. */
#include "trace.h"

int main(void)
{
    CFDateRef one = CFDateCreate(NULL, 100.5), other = CFDateCreate(NULL, 200.0), same = CFDateCreate(NULL, 100.5);
    note("%.1f", CFDateGetAbsoluteTime(one));
    note("%.1f %.1f", CFDateGetTimeIntervalSinceDate(other, one), CFDateGetTimeIntervalSinceDate(one, other));
    note("%d %d %d", (int)CFDateCompare(one, other, NULL), (int)CFDateCompare(other, one, NULL),
         (int)CFDateCompare(one, same, NULL));
    check("equal", CFEqual(one, same));
    check("same hash", CFHash(one) == CFHash(same));
    check("not equal", CFEqual(one, other));
    check("type", CFGetTypeID(one) == CFDateGetTypeID());
    note("%.0f %.0f", kCFAbsoluteTimeIntervalSince1970, kCFAbsoluteTimeIntervalSince1904);
    show("dates");
    return 0;
}
