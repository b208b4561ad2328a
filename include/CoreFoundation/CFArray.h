/** @file CFArray.h
 *  Immutable arrays: create, count, value, contains.
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

CF_EXPORT const CFArrayCallBacks kCFTypeArrayCallBacks __asm__("kRLTypeArrayCallBacks");

CF_EXPORT CFTypeID CFArrayGetTypeID(void) __asm__("RLArrayGetTypeID");
CF_EXPORT CFArrayRef CFArrayCreate(CFAllocatorRef allocator, const void **values, CFIndex numValues,
                                   const CFArrayCallBacks *callBacks) __asm__("RLArrayCreate");
CF_EXPORT CFIndex CFArrayGetCount(CFArrayRef theArray) __asm__("RLArrayGetCount");
CF_EXPORT const void *CFArrayGetValueAtIndex(CFArrayRef theArray, CFIndex idx) __asm__("RLArrayGetValueAtIndex");
CF_EXPORT Boolean CFArrayContainsValue(CFArrayRef theArray, CFRange range,
                                       const void *value) __asm__("RLArrayContainsValue");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFARRAY__ */
