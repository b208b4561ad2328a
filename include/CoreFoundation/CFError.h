/** @file CFError.h
 *  Error objects: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFERROR__
#define __COREFOUNDATION_CFERROR__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFErrorRef, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorGetTypeID, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCreate, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCreateWithUserInfoKeysAndValues, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorGetDomain, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorGetCode, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCopyUserInfo, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCopyDescription, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCopyFailureReason, __CF_NO_ERRORS);
__CF_NO_FUNCTION(CFErrorCopyRecoverySuggestion, __CF_NO_ERRORS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFERROR__ */
