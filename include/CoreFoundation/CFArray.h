/** @file CFArray.h
 *  Arrays, immutable and mutable: all of CFArray.h.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLArray.h for the documentation. */
#ifndef __COREFOUNDATION_CFARRAY__
#define __COREFOUNDATION_CFARRAY__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const void *(*CFArrayRetainCallBack)(CFAllocatorRef allocator, const void *value);
typedef void (*CFArrayReleaseCallBack)(CFAllocatorRef allocator, const void *value);
typedef CFStringRef (*CFArrayCopyDescriptionCallBack)(const void *value);
typedef Boolean (*CFArrayEqualCallBack)(const void *value1, const void *value2);
typedef struct {
    CFIndex version;
    CFArrayRetainCallBack retain;
    CFArrayReleaseCallBack release;
    CFArrayCopyDescriptionCallBack copyDescription;
    CFArrayEqualCallBack equal;
} CFArrayCallBacks;

typedef const struct __CFArray *CFArrayRef;
typedef struct __CFArray *CFMutableArrayRef;
typedef void (*CFArrayApplierFunction)(const void *value, void *context);

CF_EXPORT const CFArrayCallBacks kCFTypeArrayCallBacks __asm__("kRLTypeArrayCallBacks");

CF_EXPORT CFTypeID CFArrayGetTypeID(void) __asm__("RLArrayGetTypeID");
CF_EXPORT CFArrayRef CFArrayCreate(CFAllocatorRef allocator, const void **values, CFIndex numValues,
                                   const CFArrayCallBacks *callBacks) __asm__("RLArrayCreate");
CF_EXPORT CFIndex CFArrayGetCount(CFArrayRef theArray) __asm__("RLArrayGetCount");
CF_EXPORT const void *CFArrayGetValueAtIndex(CFArrayRef theArray, CFIndex idx) __asm__("RLArrayGetValueAtIndex");
CF_EXPORT Boolean CFArrayContainsValue(CFArrayRef theArray, CFRange range,
                                       const void *value) __asm__("RLArrayContainsValue");
CF_EXPORT CFArrayRef CFArrayCreateCopy(CFAllocatorRef allocator, CFArrayRef theArray) __asm__("RLArrayCreateCopy");
CF_EXPORT CFMutableArrayRef CFArrayCreateMutable(CFAllocatorRef allocator, CFIndex capacity,
                                                 const CFArrayCallBacks *callBacks) __asm__("RLArrayCreateMutable");
CF_EXPORT CFMutableArrayRef CFArrayCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity,
                                                     CFArrayRef theArray) __asm__("RLArrayCreateMutableCopy");
CF_EXPORT void CFArrayGetValues(CFArrayRef theArray, CFRange range, const void **values) __asm__("RLArrayGetValues");
CF_EXPORT void CFArrayApplyFunction(CFArrayRef theArray, CFRange range, CFArrayApplierFunction applier,
                                    void *context) __asm__("RLArrayApplyFunction");
CF_EXPORT CFIndex CFArrayGetFirstIndexOfValue(CFArrayRef theArray, CFRange range,
                                              const void *value) __asm__("RLArrayGetFirstIndexOfValue");
CF_EXPORT CFIndex CFArrayGetLastIndexOfValue(CFArrayRef theArray, CFRange range,
                                             const void *value) __asm__("RLArrayGetLastIndexOfValue");
CF_EXPORT CFIndex CFArrayGetCountOfValue(CFArrayRef theArray, CFRange range,
                                         const void *value) __asm__("RLArrayGetCountOfValue");
CF_EXPORT CFIndex CFArrayBSearchValues(CFArrayRef theArray, CFRange range, const void *value,
                                       CFComparatorFunction comparator, void *context) __asm__("RLArrayBSearchValues");
CF_EXPORT void CFArrayAppendValue(CFMutableArrayRef theArray, const void *value) __asm__("RLArrayAppendValue");
CF_EXPORT void CFArrayInsertValueAtIndex(CFMutableArrayRef theArray, CFIndex idx,
                                         const void *value) __asm__("RLArrayInsertValueAtIndex");
CF_EXPORT void CFArraySetValueAtIndex(CFMutableArrayRef theArray, CFIndex idx,
                                      const void *value) __asm__("RLArraySetValueAtIndex");
CF_EXPORT void CFArrayRemoveValueAtIndex(CFMutableArrayRef theArray, CFIndex idx) __asm__("RLArrayRemoveValueAtIndex");
CF_EXPORT void CFArrayRemoveAllValues(CFMutableArrayRef theArray) __asm__("RLArrayRemoveAllValues");
CF_EXPORT void CFArrayReplaceValues(CFMutableArrayRef theArray, CFRange range, const void **newValues,
                                    CFIndex newCount) __asm__("RLArrayReplaceValues");
CF_EXPORT void CFArrayExchangeValuesAtIndices(CFMutableArrayRef theArray, CFIndex index1,
                                              CFIndex index2) __asm__("RLArrayExchangeValuesAtIndices");
CF_EXPORT void CFArraySortValues(CFMutableArrayRef theArray, CFRange range, CFComparatorFunction comparator,
                                 void *context) __asm__("RLArraySortValues");
CF_EXPORT void CFArrayAppendArray(CFMutableArrayRef theArray, CFArrayRef otherArray,
                                  CFRange otherRange) __asm__("RLArrayAppendArray");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFARRAY__ */
