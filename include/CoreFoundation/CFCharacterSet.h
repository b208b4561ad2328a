/** @file CFCharacterSet.h
 *  Character sets: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFCHARACTERSET__
#define __COREFOUNDATION_CFCHARACTERSET__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFCharacterSetRef, __CF_NO_TEXT);
__CF_NO_TYPE(CFMutableCharacterSetRef, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetGetTypeID, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetGetPredefined, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateWithCharactersInRange, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateWithCharactersInString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateWithBitmapRepresentation, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateInvertedSet, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetIsSupersetOfSet, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetHasMemberInPlane, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateMutable, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateCopy, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateMutableCopy, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetIsCharacterMember, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetIsLongCharacterMember, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetCreateBitmapRepresentation, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetAddCharactersInRange, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetRemoveCharactersInRange, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetAddCharactersInString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetRemoveCharactersInString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetUnion, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetIntersect, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFCharacterSetInvert, __CF_NO_TEXT);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFCHARACTERSET__ */
