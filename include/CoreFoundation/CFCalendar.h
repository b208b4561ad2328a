/** @file CFCalendar.h
 *  Calendars: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFCALENDAR__
#define __COREFOUNDATION_CFCALENDAR__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFCalendarRef, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarCopyCurrent, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarCreateWithIdentifier, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetIdentifier, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarCopyLocale, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarSetLocale, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarCopyTimeZone, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarSetTimeZone, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetFirstWeekday, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarSetFirstWeekday, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetMinimumDaysInFirstWeek, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarSetMinimumDaysInFirstWeek, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetMinimumRangeOfUnit, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetMaximumRangeOfUnit, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetRangeOfUnit, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetOrdinalityOfUnit, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetTimeRangeOfUnit, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarComposeAbsoluteTime, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarDecomposeAbsoluteTime, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarAddComponents, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFCalendarGetComponentDifference, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFCALENDAR__ */
