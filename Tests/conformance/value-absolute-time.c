/* Values: absolute time counts seconds since 2001-01-01 00:00 UTC and advances. */
#include "trace.h"

int main(void)
{
    double before = CFAbsoluteTimeGetCurrent(), unix_time = (double)time(NULL), after = CFAbsoluteTimeGetCurrent();
    note("%.1f", kCFAbsoluteTimeIntervalSince1970);
    check("forward", after >= before);
    check("not before", after + kCFAbsoluteTimeIntervalSince1970 > unix_time - 2);
    check("not after", before + kCFAbsoluteTimeIntervalSince1970 < unix_time + 2);
    show("time");
    return 0;
}
