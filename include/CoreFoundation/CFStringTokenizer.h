/** @file CFStringTokenizer.h
 *  Tokenizers: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFSTRINGTOKENIZER__
#define __COREFOUNDATION_CFSTRINGTOKENIZER__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFStringTokenizerRef, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerGetTypeID, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerCreate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerSetString, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerGoToTokenAtIndex, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerAdvanceToNextToken, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerGetCurrentTokenRange, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerCopyCurrentTokenAttribute, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerGetCurrentSubTokens, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFStringTokenizerCopyBestStringLanguage, __CF_NO_LOCALES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFSTRINGTOKENIZER__ */
