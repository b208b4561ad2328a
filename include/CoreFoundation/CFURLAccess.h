/** @file CFURLAccess.h
 *  Access by URL: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFURLACCESS__
#define __COREFOUNDATION_CFURLACCESS__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_FUNCTION(CFURLCreateDataAndPropertiesFromResource, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLWriteDataAndPropertiesToResource, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLDestroyResource, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreatePropertyFromResource, __CF_NO_URLS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFURLACCESS__ */
