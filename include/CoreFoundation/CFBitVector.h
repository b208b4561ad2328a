/** @file CFBitVector.h
 *  Bit vectors: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFBITVECTOR__
#define __COREFOUNDATION_CFBITVECTOR__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFBitVectorRef, __CF_NO_COLLECTION);
__CF_NO_TYPE(CFMutableBitVectorRef, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetTypeID, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorCreate, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorCreateCopy, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorCreateMutable, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorCreateMutableCopy, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetCount, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetCountOfBit, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorContainsBit, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetBitAtIndex, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetBits, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetFirstIndexOfBit, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorGetLastIndexOfBit, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorSetCount, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorFlipBitAtIndex, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorFlipBits, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorSetBitAtIndex, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorSetBits, __CF_NO_COLLECTION);
__CF_NO_FUNCTION(CFBitVectorSetAllBits, __CF_NO_COLLECTION);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFBITVECTOR__ */
