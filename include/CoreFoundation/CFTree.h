/** @file CFTree.h
 *  Trees: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFTREE__
#define __COREFOUNDATION_CFTREE__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFTreeRef, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetTypeID, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeCreate, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetParent, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetNextSibling, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetFirstChild, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetContext, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetChildCount, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetChildAtIndex, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeGetChildren, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeApplyFunctionToChildren, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeFindRoot, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeSetContext, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreePrependChild, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeAppendChild, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeInsertSibling, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeRemove, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeRemoveAllChildren, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFTreeSortChildren, __CF_NO_COLLECTION);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFTREE__ */
