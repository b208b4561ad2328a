/** @file CFTimeZone.h
 *  Time zones: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFTIMEZONE__
#define __COREFOUNDATION_CFTIMEZONE__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_FUNCTION(CFTimeZoneGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopySystem, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneResetSystem, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopyDefault, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneSetDefault, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopyKnownNames, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopyAbbreviationDictionary, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneSetAbbreviationDictionary, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCreate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCreateWithTimeIntervalFromGMT, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCreateWithName, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneGetName, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneGetData, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneGetSecondsFromGMT, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopyAbbreviation, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneIsDaylightSavingTime, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneGetDaylightSavingTimeOffset, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneGetNextDaylightSavingTimeTransition, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFTimeZoneCopyLocalizedName, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFTIMEZONE__ */
