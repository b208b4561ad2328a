/** @file CFData.h
 *  Bytes, immutable and mutable: all of CFData.h.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLData.h for the documentation. */
#ifndef __COREFOUNDATION_CFDATA__
#define __COREFOUNDATION_CFDATA__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const struct __CFData *CFDataRef;
typedef struct __CFData *CFMutableDataRef;

typedef CF_OPTIONS(CFOptionFlags, CFDataSearchFlags) {
    kCFDataSearchBackwards = 1UL << 0,
    kCFDataSearchAnchored = 1UL << 1
};

CF_EXPORT CFTypeID CFDataGetTypeID(void) __asm__("RLDataGetTypeID");
CF_EXPORT CFDataRef CFDataCreate(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length) __asm__("RLDataCreate");
CF_EXPORT CFIndex CFDataGetLength(CFDataRef theData) __asm__("RLDataGetLength");
CF_EXPORT const UInt8 *CFDataGetBytePtr(CFDataRef theData) __asm__("RLDataGetBytePtr");
CF_EXPORT void CFDataGetBytes(CFDataRef theData, CFRange range, UInt8 *buffer) __asm__("RLDataGetBytes");
CF_EXPORT CFDataRef CFDataCreateWithBytesNoCopy(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length,
                                                CFAllocatorRef bytesDeallocator) __asm__("RLDataCreateWithBytesNoCopy");
CF_EXPORT CFDataRef CFDataCreateCopy(CFAllocatorRef allocator, CFDataRef theData) __asm__("RLDataCreateCopy");
CF_EXPORT CFMutableDataRef CFDataCreateMutable(CFAllocatorRef allocator,
                                               CFIndex capacity) __asm__("RLDataCreateMutable");
CF_EXPORT CFMutableDataRef CFDataCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity,
                                                   CFDataRef theData) __asm__("RLDataCreateMutableCopy");
CF_EXPORT UInt8 *CFDataGetMutableBytePtr(CFMutableDataRef theData) __asm__("RLDataGetMutableBytePtr");
CF_EXPORT void CFDataSetLength(CFMutableDataRef theData, CFIndex length) __asm__("RLDataSetLength");
CF_EXPORT void CFDataIncreaseLength(CFMutableDataRef theData, CFIndex extraLength) __asm__("RLDataIncreaseLength");
CF_EXPORT void CFDataAppendBytes(CFMutableDataRef theData, const UInt8 *bytes,
                                 CFIndex length) __asm__("RLDataAppendBytes");
CF_EXPORT void CFDataReplaceBytes(CFMutableDataRef theData, CFRange range, const UInt8 *newBytes,
                                  CFIndex newLength) __asm__("RLDataReplaceBytes");
CF_EXPORT void CFDataDeleteBytes(CFMutableDataRef theData, CFRange range) __asm__("RLDataDeleteBytes");
CF_EXPORT CFRange CFDataFind(CFDataRef theData, CFDataRef theDataToFind, CFRange searchRange,
                             CFDataSearchFlags options) __asm__("RLDataFind");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFDATA__ */
