/** @file CFBinaryHeap.h
 *  Binary heaps: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFBINARYHEAP__
#define __COREFOUNDATION_CFBINARYHEAP__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFBinaryHeapRef, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetTypeID, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapCreate, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapCreateCopy, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetCount, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetCountOfValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapContainsValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetMinimum, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetMinimumIfPresent, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapGetValues, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapApplyFunction, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapAddValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapRemoveMinimumValue, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBinaryHeapRemoveAllValues, __CF_NO_COLLECTION);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFBINARYHEAP__ */
