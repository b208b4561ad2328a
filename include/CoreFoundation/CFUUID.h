/** @file CFUUID.h
 *  UUIDs: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFUUID__
#define __COREFOUNDATION_CFUUID__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFUUIDRef, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDGetTypeID, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDCreate, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDCreateWithBytes, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDCreateFromString, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDCreateString, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDGetConstantUUIDWithBytes, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDGetUUIDBytes, __CF_NO_UUIDS);
__CF_NO_FUNCTION(CFUUIDCreateFromUUIDBytes, __CF_NO_UUIDS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFUUID__ */
