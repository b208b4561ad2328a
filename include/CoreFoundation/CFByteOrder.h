/** @file CFByteOrder.h
 *  Byte order: all of CFByteOrder.h, as inline functions.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFBYTEORDER__
#define __COREFOUNDATION_CFBYTEORDER__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

enum __CFByteOrder { CFByteOrderUnknown, CFByteOrderLittleEndian, CFByteOrderBigEndian };
typedef CFIndex CFByteOrder;

CF_INLINE CFByteOrder CFByteOrderGetCurrent(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? CFByteOrderBigEndian : CFByteOrderLittleEndian;
}

CF_INLINE uint16_t CFSwapInt16(uint16_t arg) { return __builtin_bswap16(arg); }
CF_INLINE uint32_t CFSwapInt32(uint32_t arg) { return __builtin_bswap32(arg); }
CF_INLINE uint64_t CFSwapInt64(uint64_t arg) { return __builtin_bswap64(arg); }

CF_INLINE uint16_t CFSwapInt16BigToHost(uint16_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt16(arg);
}
CF_INLINE uint16_t CFSwapInt16HostToBig(uint16_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt16(arg);
}
CF_INLINE uint16_t CFSwapInt16LittleToHost(uint16_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt16(arg);
}
CF_INLINE uint16_t CFSwapInt16HostToLittle(uint16_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt16(arg);
}
CF_INLINE uint32_t CFSwapInt32BigToHost(uint32_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt32(arg);
}
CF_INLINE uint32_t CFSwapInt32HostToBig(uint32_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt32(arg);
}
CF_INLINE uint32_t CFSwapInt32LittleToHost(uint32_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt32(arg);
}
CF_INLINE uint32_t CFSwapInt32HostToLittle(uint32_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt32(arg);
}
CF_INLINE uint64_t CFSwapInt64BigToHost(uint64_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt64(arg);
}
CF_INLINE uint64_t CFSwapInt64HostToBig(uint64_t arg)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? arg : CFSwapInt64(arg);
}
CF_INLINE uint64_t CFSwapInt64LittleToHost(uint64_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt64(arg);
}
CF_INLINE uint64_t CFSwapInt64HostToLittle(uint64_t arg)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? arg : CFSwapInt64(arg);
}

/* Floating-point numbers in the byte order of a big-endian machine: not for calculations. */
typedef struct {
    uint32_t v;
} CFSwappedFloat32;
typedef struct {
    uint64_t v;
} CFSwappedFloat64;

CF_INLINE CFSwappedFloat32 CFConvertFloat32HostToSwapped(float arg)
{
    CFSwappedFloat32 result;
    __builtin_memcpy(&result.v, &arg, sizeof arg);
    result.v = CFSwapInt32HostToBig(result.v);
    return result;
}

CF_INLINE float CFConvertFloat32SwappedToHost(CFSwappedFloat32 arg)
{
    float result;
    arg.v = CFSwapInt32BigToHost(arg.v);
    __builtin_memcpy(&result, &arg.v, sizeof result);
    return result;
}

CF_INLINE CFSwappedFloat64 CFConvertFloat64HostToSwapped(double arg)
{
    CFSwappedFloat64 result;
    __builtin_memcpy(&result.v, &arg, sizeof arg);
    result.v = CFSwapInt64HostToBig(result.v);
    return result;
}

CF_INLINE double CFConvertFloat64SwappedToHost(CFSwappedFloat64 arg)
{
    double result;
    arg.v = CFSwapInt64BigToHost(arg.v);
    __builtin_memcpy(&result, &arg.v, sizeof result);
    return result;
}

CF_INLINE CFSwappedFloat32 CFConvertFloatHostToSwapped(float arg)
{
    CFSwappedFloat32 result;
    __builtin_memcpy(&result.v, &arg, sizeof arg);
    result.v = CFSwapInt32HostToBig(result.v);
    return result;
}

CF_INLINE float CFConvertFloatSwappedToHost(CFSwappedFloat32 arg)
{
    float result;
    arg.v = CFSwapInt32BigToHost(arg.v);
    __builtin_memcpy(&result, &arg.v, sizeof result);
    return result;
}

CF_INLINE CFSwappedFloat64 CFConvertDoubleHostToSwapped(double arg)
{
    CFSwappedFloat64 result;
    __builtin_memcpy(&result.v, &arg, sizeof arg);
    result.v = CFSwapInt64HostToBig(result.v);
    return result;
}

CF_INLINE double CFConvertDoubleSwappedToHost(CFSwappedFloat64 arg)
{
    double result;
    arg.v = CFSwapInt64BigToHost(arg.v);
    __builtin_memcpy(&result, &arg.v, sizeof result);
    return result;
}

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFBYTEORDER__ */
