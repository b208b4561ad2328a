/** @file CFNumberFormatter.h
 *  Number formatters: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFNUMBERFORMATTER__
#define __COREFOUNDATION_CFNUMBERFORMATTER__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFNumberFormatterRef, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterCreate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetLocale, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetStyle, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetFormat, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterSetFormat, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterCreateStringWithNumber, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterCreateStringWithValue, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterCreateNumberFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetValueFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterSetProperty, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterCopyProperty, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFNumberFormatterGetDecimalInfoForCurrencyCode, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFNUMBERFORMATTER__ */
