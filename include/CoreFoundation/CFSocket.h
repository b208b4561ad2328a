/** @file CFSocket.h
 *  CFSocket except for the name registry: sockets whose data, connections and room to write are delivered to a
 *  callback.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLSocket.h for the documentation. */
#ifndef __COREFOUNDATION_CFSOCKET__
#define __COREFOUNDATION_CFSOCKET__ 1

#include <CoreFoundation/CFData.h>
#include <CoreFoundation/CFRunLoop.h>

CF_EXTERN_C_BEGIN

typedef struct __CFSocket *CFSocketRef;
typedef int CFSocketNativeHandle;

typedef CF_ENUM(CFIndex, CFSocketError) { kCFSocketSuccess = 0, kCFSocketError = -1L, kCFSocketTimeout = -2L };

typedef struct {
    SInt32 protocolFamily;
    SInt32 socketType;
    SInt32 protocol;
    CFDataRef address;
} CFSocketSignature;

typedef CF_OPTIONS(CFOptionFlags, CFSocketCallBackType) {
    kCFSocketNoCallBack = 0,
    kCFSocketReadCallBack = 1,
    kCFSocketAcceptCallBack = 2,
    kCFSocketDataCallBack = 3,
    kCFSocketConnectCallBack = 4,
    kCFSocketWriteCallBack = 8
};

CF_ENUM(CFOptionFlags){kCFSocketAutomaticallyReenableReadCallBack = 1,
                       kCFSocketAutomaticallyReenableAcceptCallBack = 2,
                       kCFSocketAutomaticallyReenableDataCallBack = 3,
                       kCFSocketAutomaticallyReenableWriteCallBack = 8,
                       kCFSocketLeaveErrors = 64,
                       kCFSocketCloseOnInvalidate = 128};

typedef void (*CFSocketCallBack)(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data,
                                 void *info);

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFSocketContext;

CF_EXPORT CFTypeID CFSocketGetTypeID(void) __asm__("RLSocketGetTypeID");

CF_EXPORT CFSocketRef CFSocketCreate(CFAllocatorRef allocator, SInt32 protocolFamily, SInt32 socketType,
                                     SInt32 protocol, CFOptionFlags callBackTypes, CFSocketCallBack callout,
                                     const CFSocketContext *context) __asm__("RLSocketCreate");
CF_EXPORT CFSocketRef CFSocketCreateWithNative(CFAllocatorRef allocator, CFSocketNativeHandle sock,
                                               CFOptionFlags callBackTypes, CFSocketCallBack callout,
                                               const CFSocketContext *context) __asm__("RLSocketCreateWithNative");
CF_EXPORT CFSocketRef CFSocketCreateWithSocketSignature(
    CFAllocatorRef allocator, const CFSocketSignature *signature, CFOptionFlags callBackTypes, CFSocketCallBack callout,
    const CFSocketContext *context) __asm__("RLSocketCreateWithSocketSignature");
CF_EXPORT CFSocketRef CFSocketCreateConnectedToSocketSignature(
    CFAllocatorRef allocator, const CFSocketSignature *signature, CFOptionFlags callBackTypes, CFSocketCallBack callout,
    const CFSocketContext *context, CFTimeInterval timeout) __asm__("RLSocketCreateConnectedToSocketSignature");

CF_EXPORT CFSocketError CFSocketSetAddress(CFSocketRef s, CFDataRef address) __asm__("RLSocketSetAddress");
CF_EXPORT CFSocketError CFSocketConnectToAddress(CFSocketRef s, CFDataRef address,
                                                 CFTimeInterval timeout) __asm__("RLSocketConnectToAddress");
CF_EXPORT void CFSocketInvalidate(CFSocketRef s) __asm__("RLSocketInvalidate");
CF_EXPORT Boolean CFSocketIsValid(CFSocketRef s) __asm__("RLSocketIsValid");
CF_EXPORT CFDataRef CFSocketCopyAddress(CFSocketRef s) __asm__("RLSocketCopyAddress");
CF_EXPORT CFDataRef CFSocketCopyPeerAddress(CFSocketRef s) __asm__("RLSocketCopyPeerAddress");
CF_EXPORT void CFSocketGetContext(CFSocketRef s, CFSocketContext *context) __asm__("RLSocketGetContext");
CF_EXPORT CFSocketNativeHandle CFSocketGetNative(CFSocketRef s) __asm__("RLSocketGetNative");
CF_EXPORT CFRunLoopSourceRef CFSocketCreateRunLoopSource(CFAllocatorRef allocator, CFSocketRef s,
                                                         CFIndex order) __asm__("RLSocketCreateRunLoopSource");
CF_EXPORT CFOptionFlags CFSocketGetSocketFlags(CFSocketRef s) __asm__("RLSocketGetSocketFlags");
CF_EXPORT void CFSocketSetSocketFlags(CFSocketRef s, CFOptionFlags flags) __asm__("RLSocketSetSocketFlags");
CF_EXPORT void CFSocketDisableCallBacks(CFSocketRef s, CFOptionFlags callBackTypes) __asm__("RLSocketDisableCallBacks");
CF_EXPORT void CFSocketEnableCallBacks(CFSocketRef s, CFOptionFlags callBackTypes) __asm__("RLSocketEnableCallBacks");
CF_EXPORT CFSocketError CFSocketSendData(CFSocketRef s, CFDataRef address, CFDataRef data,
                                         CFTimeInterval timeout) __asm__("RLSocketSendData");

/* ---- The name registry is declined: to use one of these names is an error at compile time. ---- */

#define __CF_SOCKET_REGISTRY_IS_DECLINED                                                           \
    __CF_DECLINED("CFSocket's name registry needs a server on TCP port 2454, which no system has " \
                  "today: pass addresses by other means")

CF_EXPORT CFSocketError CFSocketRegisterValue(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                              CFStringRef name,
                                              CFPropertyListRef value) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT CFSocketError CFSocketCopyRegisteredValue(const CFSocketSignature *nameServerSignature,
                                                    CFTimeInterval timeout, CFStringRef name, CFPropertyListRef *value,
                                                    CFDataRef *nameServerAddress) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT CFSocketError
CFSocketRegisterSocketSignature(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout, CFStringRef name,
                                const CFSocketSignature *signature) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT CFSocketError CFSocketCopyRegisteredSocketSignature(
    const CFSocketSignature *nameServerSignature, CFTimeInterval timeout, CFStringRef name,
    CFSocketSignature *signature, CFDataRef *nameServerAddress) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT CFSocketError CFSocketUnregister(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                           CFStringRef name) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT void CFSocketSetDefaultNameRegistryPortNumber(UInt16 port) __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT UInt16 CFSocketGetDefaultNameRegistryPortNumber(void) __CF_SOCKET_REGISTRY_IS_DECLINED;

CF_EXPORT const CFStringRef kCFSocketCommandKey __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketNameKey __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketValueKey __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketResultKey __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketErrorKey __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketRegisterCommand __CF_SOCKET_REGISTRY_IS_DECLINED;
CF_EXPORT const CFStringRef kCFSocketRetrieveCommand __CF_SOCKET_REGISTRY_IS_DECLINED;

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFSOCKET__ */
