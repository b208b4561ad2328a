/** @file CFPreferences.h
 *  Preferences: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFPREFERENCES__
#define __COREFOUNDATION_CFPREFERENCES__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_FUNCTION(CFPreferencesCopyAppValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesGetAppBooleanValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesGetAppIntegerValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesSetAppValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesAddSuitePreferencesToApp, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesRemoveSuitePreferencesFromApp, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesAppSynchronize, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesCopyValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesCopyMultiple, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesSetValue, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesSetMultiple, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesSynchronize, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesCopyApplicationList, __CF_NO_PREFERENCES);
__CF_NO_FUNCTION(CFPreferencesCopyKeyList, __CF_NO_PREFERENCES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFPREFERENCES__ */
