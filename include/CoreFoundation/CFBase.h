/** @file CFBase.h
 *  The basic types of CoreFoundation, and the functions for objects of all types.
 *  Part of the source compatibility headers: see CoreFoundation.h. The functions are those of RunLoop/RLBase.h, where
 *  they are documented under the names with RL in place of CF. */
#ifndef __COREFOUNDATION_CFBASE__
#define __COREFOUNDATION_CFBASE__ 1

#include <CoreFoundation/CFAvailability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Boolean has the same type as on a Mac. (Apple's CoreFoundation for Linux has bool; the calling convention is the
 * same.) */
#ifndef __MACTYPES__
typedef unsigned char Boolean;
typedef unsigned char UInt8;
typedef signed char SInt8;
typedef unsigned short UInt16;
typedef signed short SInt16;
typedef unsigned int UInt32;
typedef signed int SInt32;
typedef uint64_t UInt64;
typedef int64_t SInt64;
typedef float Float32;
typedef double Float64;
typedef SInt32 OSStatus;
typedef SInt16 OSErr;
typedef UInt32 FourCharCode;
typedef FourCharCode OSType;
typedef UInt8 Byte;
typedef SInt8 SignedByte;
typedef UInt16 UniChar;
typedef unsigned long UniCharCount;
typedef UInt32 UTF32Char;
typedef UInt16 UTF16Char;
typedef UInt8 UTF8Char;
#endif

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
/* Written exactly as in <sys/param.h>, so that both headers may be included. */
#ifndef MIN
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#endif

#ifndef CF_EXTERN_C_BEGIN
#ifdef __cplusplus
#define CF_EXTERN_C_BEGIN extern "C" {
#define CF_EXTERN_C_END }
#else
#define CF_EXTERN_C_BEGIN
#define CF_EXTERN_C_END
#endif
#endif
#define CF_EXPORT extern
#define CF_INLINE static __inline__ __attribute__((unused))

/* Annotations for the static analyzer, Objective-C and Swift: empty in C. */
#define CF_RETURNS_RETAINED
#define CF_RETURNS_NOT_RETAINED
#define CF_RELEASES_ARGUMENT
#define CF_CONSUMED
#define CF_IMPLICIT_BRIDGING_ENABLED
#define CF_IMPLICIT_BRIDGING_DISABLED
#define CF_BRIDGED_TYPE(T)
#define CF_BRIDGED_MUTABLE_TYPE(T)
#define CF_ASSUME_NONNULL_BEGIN
#define CF_ASSUME_NONNULL_END
#define CF_NOESCAPE
#ifndef __clang__
#ifndef _Nullable
#define _Nullable
#endif
#ifndef _Nonnull
#define _Nonnull
#endif
#endif

CF_EXTERN_C_BEGIN

typedef unsigned long CFTypeID;
typedef unsigned long CFOptionFlags;
typedef unsigned long CFHashCode;
typedef signed long CFIndex;

typedef const void *CFTypeRef;
typedef CFTypeRef CFPropertyListRef;
typedef const struct __CFString *CFStringRef;
typedef const struct __CFAllocator *CFAllocatorRef;

typedef CF_ENUM(CFIndex, CFComparisonResult) {
    kCFCompareLessThan = -1L,
    kCFCompareEqualTo = 0,
    kCFCompareGreaterThan = 1
};

/* The index that a search returns if it finds nothing. */
static const CFIndex kCFNotFound = -1;

typedef struct {
    CFIndex location;
    CFIndex length;
} CFRange;

CF_INLINE CFRange CFRangeMake(CFIndex location, CFIndex length)
{
    CFRange range;
    range.location = location;
    range.length = length;
    return range;
}

/* Returns the order of two values: a comparison of CFArray.h. */
typedef CFComparisonResult (*CFComparatorFunction)(const void *val1, const void *val2, void *context);

/* There is one allocator, malloc's, which has three names. kCFAllocatorNull is for deallocator arguments. */
CF_EXPORT const CFAllocatorRef kCFAllocatorDefault __asm__("kRLAllocatorDefault");
CF_EXPORT const CFAllocatorRef kCFAllocatorSystemDefault __asm__("kRLAllocatorDefault");
CF_EXPORT const CFAllocatorRef kCFAllocatorMalloc __asm__("kRLAllocatorDefault");

CF_EXPORT const CFAllocatorRef kCFAllocatorNull __asm__("kRLAllocatorNull");

/* Custom allocators: the type is declared here, but CFAllocatorCreate is declined (CFUnavailable.h). */
typedef const void *(*CFAllocatorRetainCallBack)(const void *info);
typedef void (*CFAllocatorReleaseCallBack)(const void *info);
typedef CFStringRef (*CFAllocatorCopyDescriptionCallBack)(const void *info);
typedef void *(*CFAllocatorAllocateCallBack)(CFIndex allocSize, CFOptionFlags hint, void *info);
typedef void *(*CFAllocatorReallocateCallBack)(void *ptr, CFIndex newsize, CFOptionFlags hint, void *info);
typedef void (*CFAllocatorDeallocateCallBack)(void *ptr, void *info);
typedef CFIndex (*CFAllocatorPreferredSizeCallBack)(CFIndex size, CFOptionFlags hint, void *info);
typedef struct {
    CFIndex version;
    void *info;
    CFAllocatorRetainCallBack retain;
    CFAllocatorReleaseCallBack release;
    CFAllocatorCopyDescriptionCallBack copyDescription;
    CFAllocatorAllocateCallBack allocate;
    CFAllocatorReallocateCallBack reallocate;
    CFAllocatorDeallocateCallBack deallocate;
    CFAllocatorPreferredSizeCallBack preferredSize;
} CFAllocatorContext;

CF_INLINE CFAllocatorRef CFAllocatorGetDefault(void) { return kCFAllocatorDefault; }

/* All objects are allocated with malloc. */
CF_INLINE CFAllocatorRef CFGetAllocator(CFTypeRef cf)
{
    (void)cf;
    return kCFAllocatorSystemDefault;
}

/* malloc(), declared without its header. For 0 bytes or kCFAllocatorNull it returns NULL; the hint is ignored. */
CF_INLINE void *CFAllocatorAllocate(CFAllocatorRef allocator, CFIndex size, CFOptionFlags hint)
{
    (void)hint;
    return size <= 0 || allocator == kCFAllocatorNull ? NULL : __builtin_malloc((size_t)size);
}

CF_INLINE void CFAllocatorDeallocate(CFAllocatorRef allocator, void *ptr)
{
    if (allocator != kCFAllocatorNull)
        __builtin_free(ptr);
}

CF_INLINE void *CFAllocatorReallocate(CFAllocatorRef allocator, void *ptr, CFIndex newsize, CFOptionFlags hint)
{
    (void)hint;
    if (newsize > 0 && allocator != kCFAllocatorNull)
        return __builtin_realloc(ptr, (size_t)newsize);
    CFAllocatorDeallocate(allocator, ptr);
    return NULL;
}

/* The type ID of allocators, which are not objects here: no object has this type. */
CF_INLINE CFTypeID CFAllocatorGetTypeID(void) { return 0x21; }

typedef const struct __CFNull *CFNullRef;
CF_EXPORT const CFNullRef kCFNull __asm__("kRLNull");
CF_EXPORT CFTypeID CFNullGetTypeID(void) __asm__("RLNullGetTypeID");

CF_EXPORT CFTypeRef CFRetain(CFTypeRef cf) __asm__("RLRetain");
CF_EXPORT void CFRelease(CFTypeRef cf) __asm__("RLRelease");
CF_EXPORT CFTypeRef CFAutorelease(CFTypeRef CF_RELEASES_ARGUMENT arg) __asm__("RLAutorelease");
CF_EXPORT CFIndex CFGetRetainCount(CFTypeRef cf) __asm__("RLGetRetainCount");
CF_EXPORT CFTypeID CFGetTypeID(CFTypeRef cf) __asm__("RLGetTypeID");
CF_EXPORT Boolean CFEqual(CFTypeRef cf1, CFTypeRef cf2) __asm__("RLEqual");
CF_EXPORT CFHashCode CFHash(CFTypeRef cf) __asm__("RLHash");
CF_EXPORT CFStringRef CFCopyDescription(CFTypeRef cf) __asm__("RLCopyDescription");

/* Returns its argument, as on macOS since 10.12: there is no garbage collector. */
CF_INLINE CFTypeRef CFMakeCollectable(CFTypeRef cf) { return cf; }

/* Used by CFSTR (CFString.h). */
CF_EXPORT CFStringRef __CFStringMakeConstantString(const char *cStr) __asm__("RLStringMakeConstant");

/* Returns the name of a type, such as "CFRunLoop", or "Not A Type" if there is no type with this ID. The caller
 * releases the name. */
CF_INLINE CFStringRef CFCopyTypeIDDescription(CFTypeID type_id)
{
    static const char *const names[] = {
        "Not A Type",       "CFString",        "CFData",         "CFArray",
        "CFRunLoop",        "CFRunLoopSource", "CFRunLoopTimer", "CFRunLoopObserver",
        "CFFileDescriptor", "CFSocket",        "CFSet",          "CFDictionary",
        "CFNumber",         "CFBoolean",       "CFDate",         "CFNotificationCenter",
        "RLPort",           "RLPortMessage",   "CFMessagePort",  "RLMessagePortRequest"};
    const char *name = type_id < sizeof names / sizeof names[0] ? names[type_id] : names[0];
    if (type_id == 0x20)
        name = "CFNull";
    if (type_id == CFAllocatorGetTypeID())
        name = "CFAllocator";
    return __CFStringMakeConstantString(name);
}

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFBASE__ */
