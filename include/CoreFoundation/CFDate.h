/** @file CFDate.h
 *  Absolute time: seconds since 2001-01-01 00:00 UTC. There are no CFDate objects.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLBase.h for the documentation. */
#ifndef __COREFOUNDATION_CFDATE__
#define __COREFOUNDATION_CFDATE__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef double CFTimeInterval;
typedef CFTimeInterval CFAbsoluteTime;

CF_EXPORT CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) __asm__("RLAbsoluteTimeGetCurrent");
CF_EXPORT const CFTimeInterval kCFAbsoluteTimeIntervalSince1970 __asm__("kRLAbsoluteTimeIntervalSince1970");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFDATE__ */
