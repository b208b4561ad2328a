/** @file CFFileDescriptor.h
 *  CFFileDescriptor, complete: one-shot callbacks for any file descriptor. (Apple's CoreFoundation for Linux has none.)
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLFileDescriptor.h for the
 *  documentation. */
#ifndef __COREFOUNDATION_CFFILEDESCRIPTOR__
#define __COREFOUNDATION_CFFILEDESCRIPTOR__ 1

#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFRunLoop.h>

CF_EXTERN_C_BEGIN

typedef int CFFileDescriptorNativeDescriptor;
typedef struct __CFFileDescriptor *CFFileDescriptorRef;

/* Apple's enumeration has no name: the types are passed as CFOptionFlags. */
CF_ENUM(CFOptionFlags){kCFFileDescriptorReadCallBack = 1UL << 0, kCFFileDescriptorWriteCallBack = 1UL << 1};

typedef void (*CFFileDescriptorCallBack)(CFFileDescriptorRef f, CFOptionFlags callBackTypes, void *info);

typedef struct {
    CFIndex version;
    void *info;
    void *(*retain)(void *info);
    void (*release)(void *info);
    CFStringRef (*copyDescription)(void *info);
} CFFileDescriptorContext;

CF_EXPORT CFTypeID CFFileDescriptorGetTypeID(void) __asm__("RLFileDescriptorGetTypeID");
CF_EXPORT CFFileDescriptorRef CFFileDescriptorCreate(
    CFAllocatorRef allocator, CFFileDescriptorNativeDescriptor fd, Boolean closeOnInvalidate,
    CFFileDescriptorCallBack callout, const CFFileDescriptorContext *context) __asm__("RLFileDescriptorCreate");
CF_EXPORT CFFileDescriptorNativeDescriptor
CFFileDescriptorGetNativeDescriptor(CFFileDescriptorRef f) __asm__("RLFileDescriptorGetNativeDescriptor");
CF_EXPORT void CFFileDescriptorGetContext(CFFileDescriptorRef f,
                                          CFFileDescriptorContext *context) __asm__("RLFileDescriptorGetContext");
CF_EXPORT void CFFileDescriptorEnableCallBacks(CFFileDescriptorRef f,
                                               CFOptionFlags callBackTypes) __asm__("RLFileDescriptorEnableCallBacks");
CF_EXPORT void
CFFileDescriptorDisableCallBacks(CFFileDescriptorRef f,
                                 CFOptionFlags callBackTypes) __asm__("RLFileDescriptorDisableCallBacks");
CF_EXPORT void CFFileDescriptorInvalidate(CFFileDescriptorRef f) __asm__("RLFileDescriptorInvalidate");
CF_EXPORT Boolean CFFileDescriptorIsValid(CFFileDescriptorRef f) __asm__("RLFileDescriptorIsValid");
CF_EXPORT CFRunLoopSourceRef CFFileDescriptorCreateRunLoopSource(
    CFAllocatorRef allocator, CFFileDescriptorRef f, CFIndex order) __asm__("RLFileDescriptorCreateRunLoopSource");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFFILEDESCRIPTOR__ */
