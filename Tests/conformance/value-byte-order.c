/* Values: CFByteOrder.h. */
#include "trace.h"
#include <CoreFoundation/CFByteOrder.h>

int main(void)
{
    check("little", CFByteOrderGetCurrent() == CFByteOrderLittleEndian);
    note("%x %x %llx", (unsigned)CFSwapInt16(0x1234), (unsigned)CFSwapInt32(0x12345678),
         (unsigned long long)CFSwapInt64(0x123456789ABCDEF0));
    show("swapped");
    note("%x %x", (unsigned)CFSwapInt16HostToBig(0x1234), (unsigned)CFSwapInt16LittleToHost(0x1234));
    note("%x %x", (unsigned)CFSwapInt32BigToHost(0x12345678), (unsigned)CFSwapInt32HostToLittle(0x12345678));
    note("%llx %llx", (unsigned long long)CFSwapInt64BigToHost(0x123456789ABCDEF0),
         (unsigned long long)CFSwapInt64LittleToHost(0x123456789ABCDEF0));
    show("to and from the host");
    CFSwappedFloat32 small = CFConvertFloat32HostToSwapped(1.5f);
    CFSwappedFloat64 large = CFConvertDoubleHostToSwapped(-2.25);
    note("%x %g", (unsigned)small.v, (double)CFConvertFloatSwappedToHost(small));
    note("%llx %g", (unsigned long long)large.v, CFConvertFloat64SwappedToHost(large));
    show("floating point");
    return 0;
}
