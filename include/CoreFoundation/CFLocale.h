/** @file CFLocale.h
 *  Locales: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFLOCALE__
#define __COREFOUNDATION_CFLOCALE__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFLocaleRef, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetSystem, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyCurrent, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyAvailableLocaleIdentifiers, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyISOLanguageCodes, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyISOCountryCodes, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyISOCurrencyCodes, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyCommonISOCurrencyCodes, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyPreferredLanguages, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateCanonicalLanguageIdentifierFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateCanonicalLocaleIdentifierFromString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateCanonicalLocaleIdentifierFromScriptManagerCodes, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateLocaleIdentifierFromWindowsLocaleCode, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetWindowsLocaleCodeFromLocaleIdentifier, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetLanguageCharacterDirection, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetLanguageLineDirection, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateComponentsFromLocaleIdentifier, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateLocaleIdentifierFromComponents, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCreateCopy, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetIdentifier, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleGetValue, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFLocaleCopyDisplayNameForPropertyValue, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFLOCALE__ */
