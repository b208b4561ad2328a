/** @file CFDictionary.h
 *  Dictionaries, immutable and mutable: all of CFDictionary.h.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLDictionary.h for the documentation. */
#ifndef __COREFOUNDATION_CFDICTIONARY__
#define __COREFOUNDATION_CFDICTIONARY__ 1

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

typedef const void *(*CFDictionaryRetainCallBack)(CFAllocatorRef allocator, const void *value);
typedef void (*CFDictionaryReleaseCallBack)(CFAllocatorRef allocator, const void *value);
typedef CFStringRef (*CFDictionaryCopyDescriptionCallBack)(const void *value);
typedef Boolean (*CFDictionaryEqualCallBack)(const void *value1, const void *value2);
typedef CFHashCode (*CFDictionaryHashCallBack)(const void *value);
typedef struct {
    CFIndex version;
    CFDictionaryRetainCallBack retain;
    CFDictionaryReleaseCallBack release;
    CFDictionaryCopyDescriptionCallBack copyDescription;
    CFDictionaryEqualCallBack equal;
    CFDictionaryHashCallBack hash;
} CFDictionaryKeyCallBacks;
typedef struct {
    CFIndex version;
    CFDictionaryRetainCallBack retain;
    CFDictionaryReleaseCallBack release;
    CFDictionaryCopyDescriptionCallBack copyDescription;
    CFDictionaryEqualCallBack equal;
} CFDictionaryValueCallBacks;

typedef const struct __CFDictionary *CFDictionaryRef;
typedef struct __CFDictionary *CFMutableDictionaryRef;
typedef void (*CFDictionaryApplierFunction)(const void *key, const void *value, void *context);

CF_EXPORT const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks __asm__("kRLTypeDictionaryKeyCallBacks");
CF_EXPORT const
    CFDictionaryKeyCallBacks kCFCopyStringDictionaryKeyCallBacks __asm__("kRLCopyStringDictionaryKeyCallBacks");
CF_EXPORT const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks __asm__("kRLTypeDictionaryValueCallBacks");

CF_EXPORT CFTypeID CFDictionaryGetTypeID(void) __asm__("RLDictionaryGetTypeID");
CF_EXPORT CFDictionaryRef
CFDictionaryCreate(CFAllocatorRef allocator, const void **keys, const void **values, CFIndex numValues,
                   const CFDictionaryKeyCallBacks *keyCallBacks,
                   const CFDictionaryValueCallBacks *valueCallBacks) __asm__("RLDictionaryCreate");
CF_EXPORT CFDictionaryRef CFDictionaryCreateCopy(CFAllocatorRef allocator,
                                                 CFDictionaryRef theDict) __asm__("RLDictionaryCreateCopy");
CF_EXPORT CFMutableDictionaryRef
CFDictionaryCreateMutable(CFAllocatorRef allocator, CFIndex capacity, const CFDictionaryKeyCallBacks *keyCallBacks,
                          const CFDictionaryValueCallBacks *valueCallBacks) __asm__("RLDictionaryCreateMutable");
CF_EXPORT CFMutableDictionaryRef CFDictionaryCreateMutableCopy(
    CFAllocatorRef allocator, CFIndex capacity, CFDictionaryRef theDict) __asm__("RLDictionaryCreateMutableCopy");
CF_EXPORT CFIndex CFDictionaryGetCount(CFDictionaryRef theDict) __asm__("RLDictionaryGetCount");
CF_EXPORT CFIndex CFDictionaryGetCountOfKey(CFDictionaryRef theDict,
                                            const void *key) __asm__("RLDictionaryGetCountOfKey");
CF_EXPORT CFIndex CFDictionaryGetCountOfValue(CFDictionaryRef theDict,
                                              const void *value) __asm__("RLDictionaryGetCountOfValue");
CF_EXPORT Boolean CFDictionaryContainsKey(CFDictionaryRef theDict, const void *key) __asm__("RLDictionaryContainsKey");
CF_EXPORT Boolean CFDictionaryContainsValue(CFDictionaryRef theDict,
                                            const void *value) __asm__("RLDictionaryContainsValue");
CF_EXPORT const void *CFDictionaryGetValue(CFDictionaryRef theDict, const void *key) __asm__("RLDictionaryGetValue");
CF_EXPORT Boolean CFDictionaryGetValueIfPresent(CFDictionaryRef theDict, const void *key,
                                                const void **value) __asm__("RLDictionaryGetValueIfPresent");
CF_EXPORT void CFDictionaryGetKeysAndValues(CFDictionaryRef theDict, const void **keys,
                                            const void **values) __asm__("RLDictionaryGetKeysAndValues");
CF_EXPORT void CFDictionaryApplyFunction(CFDictionaryRef theDict, CFDictionaryApplierFunction applier,
                                         void *context) __asm__("RLDictionaryApplyFunction");
CF_EXPORT void CFDictionaryAddValue(CFMutableDictionaryRef theDict, const void *key,
                                    const void *value) __asm__("RLDictionaryAddValue");
CF_EXPORT void CFDictionarySetValue(CFMutableDictionaryRef theDict, const void *key,
                                    const void *value) __asm__("RLDictionarySetValue");
CF_EXPORT void CFDictionaryReplaceValue(CFMutableDictionaryRef theDict, const void *key,
                                        const void *value) __asm__("RLDictionaryReplaceValue");
CF_EXPORT void CFDictionaryRemoveValue(CFMutableDictionaryRef theDict,
                                       const void *key) __asm__("RLDictionaryRemoveValue");
CF_EXPORT void CFDictionaryRemoveAllValues(CFMutableDictionaryRef theDict) __asm__("RLDictionaryRemoveAllValues");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFDICTIONARY__ */
