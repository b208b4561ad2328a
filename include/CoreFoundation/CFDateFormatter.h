/** @file CFDateFormatter.h
 *  Date formatters: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFDATEFORMATTER__
#define __COREFOUNDATION_CFDATEFORMATTER__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFDateFormatterRef, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreateDateFormatFromTemplate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreateISO8601Formatter, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetLocale, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetDateStyle, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetTimeStyle, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetFormat, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterSetFormat, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreateStringWithDate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreateStringWithAbsoluteTime, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCreateDateFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterGetAbsoluteTimeFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterSetProperty, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFDateFormatterCopyProperty, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFDATEFORMATTER__ */
