/** @file CFDate.h
 *  Absolute time, in seconds since 2001-01-01 00:00 UTC, and objects that hold one, without calendars and time zones.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLDate.h and RLBase.h for the
 *  documentation. */
#ifndef __COREFOUNDATION_CFDATE__
#define __COREFOUNDATION_CFDATE__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef double CFTimeInterval;
typedef CFTimeInterval CFAbsoluteTime;
typedef const struct __CFDate *CFDateRef;

CF_EXPORT CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) __asm__("RLAbsoluteTimeGetCurrent");
CF_EXPORT const CFTimeInterval kCFAbsoluteTimeIntervalSince1970 __asm__("kRLAbsoluteTimeIntervalSince1970");
CF_EXPORT const CFTimeInterval kCFAbsoluteTimeIntervalSince1904 __asm__("kRLAbsoluteTimeIntervalSince1904");

CF_EXPORT CFTypeID CFDateGetTypeID(void) __asm__("RLDateGetTypeID");
CF_EXPORT CFDateRef CFDateCreate(CFAllocatorRef allocator, CFAbsoluteTime at) __asm__("RLDateCreate");
CF_EXPORT CFAbsoluteTime CFDateGetAbsoluteTime(CFDateRef theDate) __asm__("RLDateGetAbsoluteTime");
CF_EXPORT CFTimeInterval CFDateGetTimeIntervalSinceDate(CFDateRef theDate,
                                                        CFDateRef otherDate) __asm__("RLDateGetTimeIntervalSinceDate");
CF_EXPORT CFComparisonResult CFDateCompare(CFDateRef theDate, CFDateRef otherDate,
                                           void *context) __asm__("RLDateCompare");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFDATE__ */
