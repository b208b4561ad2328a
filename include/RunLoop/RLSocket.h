/** @file RLSocket.h
 *  Sockets on a run loop: data, clients, connections and room to write are delivered to a callback.
 *  Examples: examples/socket-chat.c, examples/socket-echo.c
 *
 *  A socket object has a native socket, the types of callbacks requested when it was created, and a run loop source
 *  that makes these callbacks on the loop's thread. There is no other thread behind it.
 *
 *  Types
 *  -----
 *  Read, accept and data exclude each other; connect and write may be combined with each of them.
 *  - Read: there is something to read, or a client to accept. Nothing is read for you. Level-triggered: it is called in
 *    every pass while bytes are left.
 *  - Accept: a client was accepted; data points to its native handle, which is blocking, close-on-exec, and yours.
 *  - Data: a chunk of a stream (up to 32 KB), or one message (up to 64 KB), was read; data is an RLDataRef. Length 0
 *    means the end of the stream or an error; after it the socket invalidates itself. A socket without an end of stream
 *    (datagrams) does not.
 *  - Connect: the connection is established (data is NULL) or has failed (data points to an int32_t with the errno
 *    value). It is called once per socket, even if the socket was already connected when the source was added.
 *  - Write: there is room to write.
 *  If several are due, they are called in this order: connect; then read, accept or data; then write. The address is
 *  the sender's (data) or the client's (accept), as RLData with a struct sockaddr, perhaps of length 0; for the other
 *  types it is NULL. Address and data are valid during the callback: retain or copy what you keep.
 *
 *  Enabling
 *  --------
 *  Adding the source to its first mode enables all types. Read, accept and data are enabled again after each call,
 *  write and connect are not: this is what the flags control (RLSocketSetSocketFlags()). RLSocketEnableCallBacks() and
 *  RLSocketDisableCallBacks() do so explicitly, and have no effect while the source is in no mode. Until the connect
 *  callback is called, connect and write are enabled and disabled together, as both wait for room to write. A callback
 *  is disabled while it runs, so a nested run does not call it again unless the callback enables it.
 *
 *  At the end of a stream the read callback is called once with nothing to read, and once more each time it is enabled
 *  explicitly; its flag no longer enables it. If the connection is broken, the write callback is still called, and the
 *  write fails.
 *
 *  A stream socket that is not connected, not connecting and not listening is not ready, and costs nothing while it is
 *  idle. The source may be in a loop before the socket is connected or listens, whether by functions of this header or
 *  by connect(2) and listen(2), on any thread. Only a UNIX socket that another thread connects with connect(2) while
 *  the loop sleeps is noticed up to a second late.
 *
 *  When the process has no descriptors left for a client, the client waits in the kernel's queue, and the loop tries to
 *  accept it every 50 ms. Nothing is lost, and the loop does not spin.
 *
 *  Life
 *  ----
 *  A socket lives until it is invalidated and released, whether its source is in a loop or not: releasing alone does
 *  not close it. Until then RLSocketCreateWithNative() for the same descriptor returns the same socket. Invalidation
 *  closes the native socket (unless the flag kRLSocketCloseOnInvalidate is cleared) and releases info. Invalidate the
 *  socket before you close the native socket yourself. On an invalid socket a function does nothing; if it has a
 *  result, it returns its failure value with errno EBADF.
 *
 *  Deliberate differences from CFSocket on Linux (the list in RLRunLoop.h has them all)
 *  ------------------------------------------------------------------------------------
 *  7. There is no thread: callbacks are called when the loop finds the socket ready, right after it wakes; nothing is
 *     read or accepted ahead.
 *  9. The end of a stream is reported once. CF calls back in every pass. An error that no connect callback reports is
 *     reported to the write callback; CF does not report it.
 *  12. Sending never raises SIGPIPE, and sending only a part is a failure; CF reports success. An empty datagram is
 *      sent, and that is a success; CF sends it and reports a failure. Close-on-exec is set on sockets created here,
 *      and SO_REUSEADDR on those that get an address to listen on; in CF that address is blocked for a minute.
 *  13. Connect, like every other callback, waits for the connection if the source was added before; CF calls at once.
 *      After RLSocketConnectToAddress() the socket is blocking again if it was before.
 *  14. A callback disabled while it runs stays disabled, accept included.
 *  18. Sockets of different order take turns in runs that return after one source. CF serves the lowest order each
 *      time.
 *
 *  CFSocket's name registry (RegisterValue and related functions) is not available: it uses a server that no system
 *  runs. */
#ifndef RUNLOOP_RLSOCKET_H
#define RUNLOOP_RLSOCKET_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A socket. */
typedef struct RLSocket *RLSocketRef;

/** The file descriptor of a socket. */
typedef int RLSocketNativeHandle;

/** The result of a socket function; errno has the details. */
typedef RLIndex RLSocketError;
/** The values of RLSocketError. */
enum {
    kRLSocketSuccess = 0, /**< Success. */
    kRLSocketError = -1,  /**< Failure. */
    kRLSocketTimeout = -2 /**< The time limit was reached first. */
};

/** A kind of socket and an address. */
typedef struct RLSocketSignature {
    int32_t protocolFamily; /**< PF_INET, PF_UNIX, ...; 0 or less: PF_INET. */
    int32_t socketType;     /**< SOCK_STREAM, SOCK_DGRAM, ...; for PF_INET 0 or less is SOCK_STREAM. */
    int32_t protocol;       /**< IPPROTO_TCP, ...; 0 or less: the family's own for the type. */
    RLDataRef address;      /**< A struct sockaddr of the family. */
} RLSocketSignature;

/** The types of callbacks of a socket; bits, of which read, accept and data exclude each other. */
typedef RLOptionFlags RLSocketCallBackType;
/** The values of RLSocketCallBackType. */
enum {
    kRLSocketNoCallBack = 0,      /**< No callback. */
    kRLSocketReadCallBack = 1,    /**< There is something to read, or to accept. */
    kRLSocketAcceptCallBack = 2,  /**< A client was accepted. */
    kRLSocketDataCallBack = 3,    /**< Data was read. */
    kRLSocketConnectCallBack = 4, /**< The connection is established or has failed. */
    kRLSocketWriteCallBack = 8    /**< There is room to write. */
};

/** The flags of a socket. */
enum {
    kRLSocketAutomaticallyReenableReadCallBack = 1,   /**< On by default for sockets of this type; also the next two. */
    kRLSocketAutomaticallyReenableAcceptCallBack = 2, /**< After each client. */
    kRLSocketAutomaticallyReenableDataCallBack = 3,   /**< After each chunk or message. */
    kRLSocketAutomaticallyReenableWriteCallBack = 8,  /**< While there is room: a call in every pass. */
    /** RLSocketSetAddress() does not set SO_REUSEADDR; CFSocket never does. Also accepted among the callback types by
     *  the functions that create a socket. */
    kRLSocketDoNotReuseAddress = 16,
    kRLSocketLeaveErrors = 64,       /**< Connect callbacks leave SO_ERROR alone, and report no error. */
    kRLSocketCloseOnInvalidate = 128 /**< On by default. */
};

/** The callback of a socket, called on the loop's thread. It may do anything with the socket, including invalidating
 *  and releasing it, and may run the loop.
 *  @param s        the socket.
 *  @param type     a single type: if several are due, each is a call of its own.
 *  @param address  accept and data: the address of the other side. NULL otherwise.
 *  @param data     accept: const RLSocketNativeHandle *. Data: RLDataRef. Connect: NULL, or const int32_t * with the
 *                  errno value. NULL otherwise.
 *  @param info     the socket's info. */
typedef void (*RLSocketCallBack)(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data,
                                 void *info);

/** The info of a socket and the functions that manage it. Every pointer may be NULL. */
typedef struct RLSocketContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called in Create, and before each callback; what it returns in Create is the socket's info. NULL: info itself,
     *  not retained. */
    const void *(*retain)(const void *info);
    /** Called by RLSocketInvalidate(), and after each callback if there is a retain. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLSocketContext;

/** Returns the type ID of sockets, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLSocketGetTypeID(void);

/** Creates a native socket, blocking and close-on-exec, and a socket object for it.
 *  @param protocolFamily  PF_INET and so on; 0 or less: PF_INET.
 *  @param socketType      SOCK_STREAM and so on; 0 or less with PF_INET: SOCK_STREAM.
 *  @param protocol        0 or less with PF_INET: TCP or UDP, by the type.
 *  @param callBackTypes   the types of callbacks.
 *  @param callout         the callback; may be NULL.
 *  @param context         copied; NULL: info is NULL.
 *  @return the socket, or NULL.
 *  Ownership: info is retained through context.retain until invalidation.  Re-entrancy: calls context.retain.
 *  Errors: NULL with the errno of socket(2). If the new descriptor has the number of one that was closed while another
 *  object still used it, that object is reported and invalidated.  Cost: two system calls. */
RL_EXPORT RLSocketRef RLSocketCreate(RLAllocatorRef allocator, int32_t protocolFamily, int32_t socketType,
                                     int32_t protocol, RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                     const RLSocketContext *context);

/** Creates a socket object for a native socket, or for another descriptor that can be read and written.
 *  If the descriptor already has a valid socket object, that object is returned, and the other parameters are ignored.
 *  But if its descriptor was closed in the meantime, so that the number now stands for another file, this is reported,
 *  the object is invalidated, and a new one is created.
 *  @param sock           the native socket. A negative number creates a socket that is not valid.
 *  @param callBackTypes  the types of callbacks.
 *  @param callout        the callback; may be NULL.
 *  @param context        copied; NULL: info is NULL.
 *  @return the socket, or NULL.
 *  Ownership: info is retained through context.retain until invalidation. sock belongs to the object while
 *  kRLSocketCloseOnInvalidate is set.  Re-entrancy: calls context.retain.
 *  Errors: a number that is not a descriptor is reported by a run of the loop; one of 1 048 576 or more is reported at
 *  once, with the result NULL.
 *  Cost: one system call, two if connect is among the types; up to three if sock is not a socket. In that case the
 *  process has one more descriptor as long as such objects are valid, which serves to distinguish their files from
 *  later ones. */
RL_EXPORT RLSocketRef RLSocketCreateWithNative(RLAllocatorRef allocator, RLSocketNativeHandle sock,
                                               RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                               const RLSocketContext *context);

/** Creates a socket and gives it an address to listen on: RLSocketCreate() and RLSocketSetAddress().
 *  @param signature      the kind of socket and the address; not NULL.
 *  @param callBackTypes  the types of callbacks, and kRLSocketDoNotReuseAddress if wanted.
 *  @param callout        the callback; may be NULL.
 *  @param context        copied; NULL: info is NULL.
 *  @return the socket, or NULL if one of the two failed.
 *  Ownership: as RLSocketCreate().  Re-entrancy: calls context.retain, and release after a failure.
 *  Errors: NULL with errno.  Cost: six system calls. */
RL_EXPORT RLSocketRef RLSocketCreateWithSocketSignature(RLAllocatorRef allocator, const RLSocketSignature *signature,
                                                        RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                                        const RLSocketContext *context);

/** Creates a socket and connects it: RLSocketCreate() and RLSocketConnectToAddress().
 *  @param signature      the kind of socket and the address; not NULL.
 *  @param callBackTypes  the types of callbacks.
 *  @param callout        the callback; may be NULL.
 *  @param context        copied; NULL: info is NULL.
 *  @param timeout        seconds to wait, as for RLSocketConnectToAddress().
 *  @return the socket, or NULL if one of the two failed.
 *  Ownership: as RLSocketCreate().  Thread: any; waits up to the timeout.
 *  Re-entrancy: calls context.retain, and release after a failure.  Errors: NULL with errno.
 *  Cost: about six system calls. */
RL_EXPORT RLSocketRef RLSocketCreateConnectedToSocketSignature(RLAllocatorRef allocator,
                                                               const RLSocketSignature *signature,
                                                               RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                                               const RLSocketContext *context, RLTimeInterval timeout);

/** Binds a socket to an address and, if the socket can listen, makes it listen there (with room for 256 clients).
 *  SO_REUSEADDR is first set on a stream socket, so that a restarted server gets its old address immediately, not only
 *  when the kernel has forgotten its closed connections. An address on which another socket listens is in use
 *  nevertheless (EADDRINUSE). The flag kRLSocketDoNotReuseAddress leaves the option as it is.
 *  @param address  a struct sockaddr.
 *  @return kRLSocketSuccess, or kRLSocketError with the errno of bind(2).
 *  Errors: misuse returns kRLSocketError.  Cost: up to four system calls. */
RL_EXPORT RLSocketError RLSocketSetAddress(RLSocketRef s, RLDataRef address);

/** Connects a socket to an address.
 *  @param address  a struct sockaddr.
 *  @param timeout  seconds to wait. Negative: connects in the background, and the connect callback, if requested,
 *                  reports the result. 0: waits as long as it takes.
 *  @return kRLSocketSuccess when the socket is connected (negative timeout: when it has begun to connect),
 *  kRLSocketTimeout, or kRLSocketError with the errno of connect(2).
 *  Thread: any; waits up to the timeout, without running the loop.  Errors: misuse returns kRLSocketError.
 *  Cost: up to six system calls. */
RL_EXPORT RLSocketError RLSocketConnectToAddress(RLSocketRef s, RLDataRef address, RLTimeInterval timeout);

/** Invalidates a socket: it is called no more, its source is invalidated, and info is released.
 *  The native socket is closed if kRLSocketCloseOnInvalidate is set. If this empties the mode of a run on another
 *  thread, that run ends. A second call has no effect.
 *  Thread: while another thread is in the callback, or sending, that thread closes the native socket and releases info
 *  when it is done.  Re-entrancy: calls context.release.  Cost: up to one system call for each loop, and the close. */
RL_EXPORT void RLSocketInvalidate(RLSocketRef s);

/** Returns whether a socket is valid: true until RLSocketInvalidate(). */
RL_EXPORT RLBoolean RLSocketIsValid(RLSocketRef s);

/** Returns the socket's own address, a struct sockaddr as data.
 *  After invalidation this is the last result, or NULL.
 *  Errors: NULL with errno: ENOTSOCK, or EBADF after invalidation.  Cost: one system call. */
RL_EXPORT RLDataRef RLSocketCopyAddress(RLSocketRef s);

/** Returns the address of the other side, a struct sockaddr as data, or NULL if the socket is not connected.
 *  After the other side has disconnected this is the last result.
 *  Errors: NULL with errno: ENOTCONN, ENOTSOCK, or EBADF after invalidation.  Cost: one system call. */
RL_EXPORT RLDataRef RLSocketCopyPeerAddress(RLSocketRef s);

/** Copies the context.
 *  @param context  filled; its version must be 0. After invalidation every pointer is NULL.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLSocketGetContext(RLSocketRef s, RLSocketContext *context);

/** Returns the native socket; -1 after invalidation and for NULL.
 *  Ownership: the descriptor belongs to the socket.  Errors: misuse returns -1. */
RL_EXPORT RLSocketNativeHandle RLSocketGetNative(RLSocketRef s);

/** Returns the socket's run loop source, which the first call creates; NULL if s is invalid.
 *  Each call returns the same source, unless that was invalidated on its own; then a new one is created.
 *  @param order  the order of the source, if this call creates it: of several ready descriptors the lowest order comes
 *                first.
 *  Ownership: Create rule; the source retains s. */
RL_EXPORT RLRunLoopSourceRef RLSocketCreateRunLoopSource(RLAllocatorRef allocator, RLSocketRef s, RLIndex order);

/** Returns the flags of a socket: initially kRLSocketCloseOnInvalidate and the bits of its read, accept or data
 *  type. */
RL_EXPORT RLOptionFlags RLSocketGetSocketFlags(RLSocketRef s);

/** Sets all flags of a socket. Those that enable a callback again take effect when that callback returns.
 *  @param flags  bits of the kRLSocketAutomaticallyReenable... constants, kRLSocketLeaveErrors,
 *                kRLSocketDoNotReuseAddress and kRLSocketCloseOnInvalidate; flags that are not included are cleared.
 *  Cost: that of RLSocketEnableCallBacks(). */
RL_EXPORT void RLSocketSetSocketFlags(RLSocketRef s, RLOptionFlags flags);

/** Disables callbacks. Callbacks of the current pass are still called.
 *  It has no effect while the source is in no mode.
 *  @param callBackTypes  the types; those that were not requested when the socket was created have no effect.
 *  Thread: if this is not the loop's thread, a callback may be running meanwhile.
 *  Cost: that of RLSocketEnableCallBacks(); a system call if the socket becomes ready nevertheless. */
RL_EXPORT void RLSocketDisableCallBacks(RLSocketRef s, RLOptionFlags callBackTypes);

/** Enables callbacks. If the socket is already ready, the callback is called in the next pass of the loop.
 *  It has no effect while the source is in no mode. A sleeping loop is woken if it has to watch for something new.
 *  @param callBackTypes  the types; those that were not requested when the socket was created have no effect.
 *  Cost: a few stores in a callback; a system call if the loop did not watch for this before, and about a microsecond
 *  from another thread. */
RL_EXPORT void RLSocketEnableCallBacks(RLSocketRef s, RLOptionFlags callBackTypes);

/** Sends all of the data, unless there is an error or the timeout is reached.
 *  After a failure a part may have been sent. How much is not known, so close a stream in this case;
 *  RLSocketSendBytes() returns how much it sent.
 *  @param address  the destination, as a struct sockaddr; NULL or empty for a connected socket.
 *  @param data     the data to send; for a stream not of length 0.
 *  @param timeout  seconds to wait for room. 0 or negative: a blocking socket waits as long as it takes; a non-blocking
 *                  one sends what fits, and fails unless that is everything.
 *  @return kRLSocketSuccess, or kRLSocketError with the errno of send(2): EAGAIN if there was no room and nothing was
 *  sent, ETIMEDOUT if a part was sent.
 *  Thread: any; waits up to the timeout, without running the loop.
 *  Errors: never SIGPIPE; misuse returns kRLSocketError.  Cost: one system call if there is room. */
RL_EXPORT RLSocketError RLSocketSendData(RLSocketRef s, RLDataRef address, RLDataRef data, RLTimeInterval timeout);

/** Sends as much as there is room for, and never waits, even if the socket is blocking.
 *  To send everything without blocking the loop, keep what is left, enable the write callback, and continue there:
 *
 *      case kRLSocketWriteCallBack:
 *          sent = RLSocketSendBytes(s, NULL, rest, restLength);
 *          if (sent < 0 && errno != EAGAIN)
 *              RLSocketInvalidate(s);
 *          else if (sent < restLength)
 *              RLSocketEnableCallBacks(s, kRLSocketWriteCallBack); // and keep rest + sent; sent may be -1
 *
 *  @param address  the destination, as a struct sockaddr; NULL or empty for a connected socket.
 *  @param bytes    the bytes to send; may be NULL if length is 0.
 *  @param length   the number of bytes. A message is sent as a whole or not at all.
 *  @return the number of bytes sent, for a stream perhaps fewer than length; or -1 with the errno of send(2): EAGAIN if
 *  there is no room, ENOTSOCK for a pipe.
 *  Errors: never SIGPIPE; misuse returns -1.  Cost: one system call. */
RL_EXPORT RLIndex RLSocketSendBytes(RLSocketRef s, RLDataRef address, const uint8_t *bytes, RLIndex length);

RL_EXTERN_C_END
#endif
