/** @file CFBag.h
 *  Bags: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFBAG__
#define __COREFOUNDATION_CFBAG__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFBagRef, __CF_NO_COLLECTION);
__CF_NO_TYPE(CFMutableBagRef, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetTypeID, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagCreate, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagCreateCopy, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagCreateMutable, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagCreateMutableCopy, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetCount, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetCountOfValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagContainsValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetValueIfPresent, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagGetValues, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagApplyFunction, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagAddValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagReplaceValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagSetValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagRemoveValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBagRemoveAllValues, __CF_NO_COLLECTION);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFBAG__ */
