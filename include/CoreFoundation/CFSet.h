/** @file CFSet.h
 *  Sets, immutable and mutable: all of CFSet.h.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLSet.h for the documentation. */
#ifndef __COREFOUNDATION_CFSET__
#define __COREFOUNDATION_CFSET__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const void *(*CFSetRetainCallBack)(CFAllocatorRef allocator, const void *value);
typedef void (*CFSetReleaseCallBack)(CFAllocatorRef allocator, const void *value);
typedef CFStringRef (*CFSetCopyDescriptionCallBack)(const void *value);
typedef Boolean (*CFSetEqualCallBack)(const void *value1, const void *value2);
typedef CFHashCode (*CFSetHashCallBack)(const void *value);
typedef struct {
    CFIndex version;
    CFSetRetainCallBack retain;
    CFSetReleaseCallBack release;
    CFSetCopyDescriptionCallBack copyDescription;
    CFSetEqualCallBack equal;
    CFSetHashCallBack hash;
} CFSetCallBacks;

typedef const struct __CFSet *CFSetRef;
typedef struct __CFSet *CFMutableSetRef;
typedef void (*CFSetApplierFunction)(const void *value, void *context);

CF_EXPORT const CFSetCallBacks kCFTypeSetCallBacks __asm__("kRLTypeSetCallBacks");
CF_EXPORT const CFSetCallBacks kCFCopyStringSetCallBacks __asm__("kRLCopyStringSetCallBacks");

CF_EXPORT CFTypeID CFSetGetTypeID(void) __asm__("RLSetGetTypeID");
CF_EXPORT CFSetRef CFSetCreate(CFAllocatorRef allocator, const void **values, CFIndex numValues,
                               const CFSetCallBacks *callBacks) __asm__("RLSetCreate");
CF_EXPORT CFSetRef CFSetCreateCopy(CFAllocatorRef allocator, CFSetRef theSet) __asm__("RLSetCreateCopy");
CF_EXPORT CFMutableSetRef CFSetCreateMutable(CFAllocatorRef allocator, CFIndex capacity,
                                             const CFSetCallBacks *callBacks) __asm__("RLSetCreateMutable");
CF_EXPORT CFMutableSetRef CFSetCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity,
                                                 CFSetRef theSet) __asm__("RLSetCreateMutableCopy");
CF_EXPORT CFIndex CFSetGetCount(CFSetRef theSet) __asm__("RLSetGetCount");
CF_EXPORT CFIndex CFSetGetCountOfValue(CFSetRef theSet, const void *value) __asm__("RLSetGetCountOfValue");
CF_EXPORT Boolean CFSetContainsValue(CFSetRef theSet, const void *value) __asm__("RLSetContainsValue");
CF_EXPORT const void *CFSetGetValue(CFSetRef theSet, const void *value) __asm__("RLSetGetValue");
CF_EXPORT Boolean CFSetGetValueIfPresent(CFSetRef theSet, const void *candidate,
                                         const void **value) __asm__("RLSetGetValueIfPresent");
CF_EXPORT void CFSetGetValues(CFSetRef theSet, const void **values) __asm__("RLSetGetValues");
CF_EXPORT void CFSetApplyFunction(CFSetRef theSet, CFSetApplierFunction applier,
                                  void *context) __asm__("RLSetApplyFunction");
CF_EXPORT void CFSetAddValue(CFMutableSetRef theSet, const void *value) __asm__("RLSetAddValue");
CF_EXPORT void CFSetReplaceValue(CFMutableSetRef theSet, const void *value) __asm__("RLSetReplaceValue");
CF_EXPORT void CFSetSetValue(CFMutableSetRef theSet, const void *value) __asm__("RLSetSetValue");
CF_EXPORT void CFSetRemoveValue(CFMutableSetRef theSet, const void *value) __asm__("RLSetRemoveValue");
CF_EXPORT void CFSetRemoveAllValues(CFMutableSetRef theSet) __asm__("RLSetRemoveAllValues");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFSET__ */
