/** @file CFData.h
 *  Immutable bytes.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLData.h for the documentation. */
#ifndef __COREFOUNDATION_CFDATA__
#define __COREFOUNDATION_CFDATA__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const struct __CFData *CFDataRef;

CF_EXPORT CFTypeID CFDataGetTypeID(void) __asm__("RLDataGetTypeID");
CF_EXPORT CFDataRef CFDataCreate(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length) __asm__("RLDataCreate");
CF_EXPORT CFIndex CFDataGetLength(CFDataRef theData) __asm__("RLDataGetLength");
CF_EXPORT const UInt8 *CFDataGetBytePtr(CFDataRef theData) __asm__("RLDataGetBytePtr");
CF_EXPORT void CFDataGetBytes(CFDataRef theData, CFRange range, UInt8 *buffer) __asm__("RLDataGetBytes");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFDATA__ */
