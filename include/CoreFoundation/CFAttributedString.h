/** @file CFAttributedString.h
 *  Attributed strings: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFATTRIBUTEDSTRING__
#define __COREFOUNDATION_CFATTRIBUTEDSTRING__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFAttributedStringRef, __CF_NO_TEXT);
__CF_NO_TYPE(CFMutableAttributedStringRef, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetTypeID, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringCreate, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringCreateWithSubstring, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringCreateCopy, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetLength, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetAttributes, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetAttribute, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetAttributesAndLongestEffectiveRange, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetAttributeAndLongestEffectiveRange, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringCreateMutableCopy, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringCreateMutable, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringReplaceString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringGetMutableString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringSetAttributes, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringSetAttribute, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringRemoveAttribute, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringReplaceAttributedString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringBeginEditing, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFAttributedStringEndEditing, __CF_NO_TEXT);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFATTRIBUTEDSTRING__ */
