/** @file CFMessagePort.h
 *  CFMessagePort except for dispatch queues: requests and replies by name, between processes, threads or in one thread.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLMessagePort.h and
 *  RunLoop/RLMessagePortRequest.h for the documentation. */
#ifndef __COREFOUNDATION_CFMESSAGEPORT__
#define __COREFOUNDATION_CFMESSAGEPORT__ 1

#include <CoreFoundation/CFData.h>
#include <CoreFoundation/CFRunLoop.h>
#include <CoreFoundation/CFString.h>

CF_EXTERN_C_BEGIN

typedef struct __CFMessagePort *CFMessagePortRef;

enum {
    kCFMessagePortSuccess = 0,
    kCFMessagePortSendTimeout = -1,
    kCFMessagePortReceiveTimeout = -2,
    kCFMessagePortIsInvalid = -3,
    kCFMessagePortTransportError = -4,
    kCFMessagePortBecameInvalidError = -5
};

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFMessagePortContext;

typedef CFDataRef (*CFMessagePortCallBack)(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info);
/* Retain the data to keep it after the callback; the library releases the returned data. */
typedef void (*CFMessagePortInvalidationCallBack)(CFMessagePortRef ms, void *info);

CF_EXPORT CFTypeID CFMessagePortGetTypeID(void) __asm__("RLMessagePortGetTypeID");
CF_EXPORT CFMessagePortRef CFMessagePortCreateLocal(CFAllocatorRef allocator, CFStringRef name,
                                                    CFMessagePortCallBack callout, CFMessagePortContext *context,
                                                    Boolean *shouldFreeInfo) __asm__("RLMessagePortCreateLocal");
CF_EXPORT CFMessagePortRef CFMessagePortCreateRemote(CFAllocatorRef allocator,
                                                     CFStringRef name) __asm__("RLMessagePortCreateRemote");
CF_EXPORT Boolean CFMessagePortIsRemote(CFMessagePortRef ms) __asm__("RLMessagePortIsRemote");
CF_EXPORT CFStringRef CFMessagePortGetName(CFMessagePortRef ms) __asm__("RLMessagePortGetName");
CF_EXPORT Boolean CFMessagePortSetName(CFMessagePortRef ms, CFStringRef newName) __asm__("RLMessagePortSetName");
CF_EXPORT void CFMessagePortGetContext(CFMessagePortRef ms,
                                       CFMessagePortContext *context) __asm__("RLMessagePortGetContext");
CF_EXPORT void CFMessagePortInvalidate(CFMessagePortRef ms) __asm__("RLMessagePortInvalidate");
CF_EXPORT Boolean CFMessagePortIsValid(CFMessagePortRef ms) __asm__("RLMessagePortIsValid");
CF_EXPORT CFMessagePortInvalidationCallBack
CFMessagePortGetInvalidationCallBack(CFMessagePortRef ms) __asm__("RLMessagePortGetInvalidationCallBack");
CF_EXPORT void CFMessagePortSetInvalidationCallBack(
    CFMessagePortRef ms, CFMessagePortInvalidationCallBack callout) __asm__("RLMessagePortSetInvalidationCallBack");
CF_EXPORT SInt32 CFMessagePortSendRequest(CFMessagePortRef remote, SInt32 msgid, CFDataRef data,
                                          CFTimeInterval sendTimeout, CFTimeInterval rcvTimeout, CFStringRef replyMode,
                                          CFDataRef *returnData) __asm__("RLMessagePortSendRequest");
CF_EXPORT CFRunLoopSourceRef CFMessagePortCreateRunLoopSource(
    CFAllocatorRef allocator, CFMessagePortRef local, CFIndex order) __asm__("RLMessagePortCreateRunLoopSource");

/* ---- Declined: to use it is an error at compile time. ---- */

CF_EXPORT void CFMessagePortSetDispatchQueue(CFMessagePortRef ms, void *queue)
    __CF_DECLINED("message ports cannot use dispatch queues here: create a source with "
                  "CFMessagePortCreateRunLoopSource() and add it to a run loop");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFMESSAGEPORT__ */
