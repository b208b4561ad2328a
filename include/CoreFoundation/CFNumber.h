/** @file CFNumber.h
 *  Numbers and truth values: all of CFNumber.h.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLNumber.h for the documentation. */
#ifndef __COREFOUNDATION_CFNUMBER__
#define __COREFOUNDATION_CFNUMBER__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const struct __CFBoolean *CFBooleanRef;
typedef const struct __CFNumber *CFNumberRef;

typedef CF_ENUM(CFIndex, CFNumberType) {
    kCFNumberSInt8Type = 1,
    kCFNumberSInt16Type = 2,
    kCFNumberSInt32Type = 3,
    kCFNumberSInt64Type = 4,
    kCFNumberFloat32Type = 5,
    kCFNumberFloat64Type = 6,
    kCFNumberCharType = 7,
    kCFNumberShortType = 8,
    kCFNumberIntType = 9,
    kCFNumberLongType = 10,
    kCFNumberLongLongType = 11,
    kCFNumberFloatType = 12,
    kCFNumberDoubleType = 13,
    kCFNumberCFIndexType = 14,
    kCFNumberNSIntegerType = 15,
    kCFNumberCGFloatType = 16,
    kCFNumberMaxType = 16
};

CF_EXPORT const CFBooleanRef kCFBooleanTrue __asm__("kRLBooleanTrue");
CF_EXPORT const CFBooleanRef kCFBooleanFalse __asm__("kRLBooleanFalse");
CF_EXPORT const CFNumberRef kCFNumberPositiveInfinity __asm__("kRLNumberPositiveInfinity");
CF_EXPORT const CFNumberRef kCFNumberNegativeInfinity __asm__("kRLNumberNegativeInfinity");
CF_EXPORT const CFNumberRef kCFNumberNaN __asm__("kRLNumberNaN");

CF_EXPORT CFTypeID CFBooleanGetTypeID(void) __asm__("RLBooleanGetTypeID");
CF_EXPORT Boolean CFBooleanGetValue(CFBooleanRef boolean) __asm__("RLBooleanGetValue");
CF_EXPORT CFTypeID CFNumberGetTypeID(void) __asm__("RLNumberGetTypeID");
CF_EXPORT CFNumberRef CFNumberCreate(CFAllocatorRef allocator, CFNumberType theType,
                                     const void *valuePtr) __asm__("RLNumberCreate");
CF_EXPORT CFNumberType CFNumberGetType(CFNumberRef number) __asm__("RLNumberGetType");
CF_EXPORT CFIndex CFNumberGetByteSize(CFNumberRef number) __asm__("RLNumberGetByteSize");
CF_EXPORT Boolean CFNumberIsFloatType(CFNumberRef number) __asm__("RLNumberIsFloatType");
CF_EXPORT Boolean CFNumberGetValue(CFNumberRef number, CFNumberType theType,
                                   void *valuePtr) __asm__("RLNumberGetValue");
CF_EXPORT CFComparisonResult CFNumberCompare(CFNumberRef number, CFNumberRef otherNumber,
                                             void *context) __asm__("RLNumberCompare");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFNUMBER__ */
