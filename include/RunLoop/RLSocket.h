/** @file RLSocket.h
 *  Sockets on a run loop: data, clients, connections and room to write become calls of a function.
 *
 *  A socket object has a native socket, the types of callbacks that were asked for when it was created, and a run loop
 *  source that delivers them on the loop's thread. There is no other thread behind it.
 *
 *  Types
 *  -----
 *  Read, accept and data exclude each other; connect and write may be added to each.
 *  - Read: there is something to read, or a client to accept. Nothing is read for you. Level-triggered: it comes again
 *    in every pass while bytes are left.
 *  - Accept: a client was accepted; data points to its native handle, which is blocking, close-on-exec, and yours.
 *  - Data: a chunk of a stream (up to 32 KB), or one message (up to 64 KB), was read; data is an RLDataRef. One of
 *    length 0 is the end of the stream, or an error; after it the socket invalidates itself. A connection that has no
 *    end (datagrams) does not.
 *  - Connect: the connection stands (data NULL) or has failed (data points to an int32_t with errno). Once per socket,
 *    also for one that was connected when the source was added.
 *  - Write: there is room to write.
 *  If several are due they come in this order: connect; then read, accept or data; then write. The address is the
 *  sender's (data) or the client's (accept), as RLData with a struct sockaddr, perhaps of length 0; NULL for the
 *  others. Address and data are valid during the call: retain or copy what you keep.
 *
 *  Enabling
 *  --------
 *  Adding the source to its first mode enables all types. Read, accept and data are enabled again after each call,
 *  write and connect are not: that is what the flags say (RLSocketSetSocketFlags()). RLSocketEnableCallBacks() and
 *  RLSocketDisableCallBacks() do it by hand, and nothing while the source is in no mode. Connect and write wait for the
 *  same, room to write: until connect has come, enabling one of them brings both, and disabling one stops both. A
 *  callback is disabled while it runs, so a nested run does not call it again, unless it is enabled in it.
 *
 *  At the end of a stream the read callback comes once with nothing to read, and once more each time it is enabled;
 *  its flag does not enable it any more. A write callback whose connection is broken comes, and the write fails.
 *
 *  A stream socket that is not connected, not connecting and not listening has nothing to tell, and an idle one costs
 *  nothing. The source may be in a loop before the socket is connected or listens, by functions of this header or by
 *  connect(2) and listen(2), on any thread. Only a UNIX socket that another thread connects with connect(2) while the
 *  loop sleeps is noticed up to 0.64 s late.
 *
 *  When the process has no descriptors left for a client, the client waits in the kernel's queue, and accepting is
 *  tried again every 50 ms. Nothing is lost, and the loop does not spin.
 *
 *  Life
 *  ----
 *  A socket lives until it is invalidated and released, its source in a loop or not: releasing alone does not close
 *  it. Until then RLSocketCreateWithNative() for the same descriptor gives the same socket. Invalidation closes the
 *  native socket (unless the flag kRLSocketCloseOnInvalidate is cleared) and releases info. Invalidate before you
 *  close the native socket yourself.
 *
 *  Deliberate differences from CFSocket on Linux (the list in RLRunLoop.h has them all)
 *  -----------------------------------------------------------------------------------
 *  7. No thread: callbacks come when the loop finds the socket ready, right after it wakes; nothing is read or
 *     accepted ahead.
 *  9. The end of a stream is told once, instead of again and again. An error that no connect callback tells is told
 *     the write callback; CF tells it nobody.
 *  12. Sending never raises SIGPIPE, and a part is no success: CF takes it for the whole. An empty datagram is sent,
 *      and that is a success; CF sends it and says that it failed. Close-on-exec is set on sockets made here, and
 *      SO_REUSEADDR on those that get an address to listen on.
 *  13. Connect, and everything else, waits for the connection if the source was added before; CF calls at once. After
 *      RLSocketConnectToAddress() the socket blocks again if it did before.
 *  14. What is disabled in its own callback stays so, accept too.
 *
 *  CFSocket's name registry (RegisterValue and its relatives) is not here: it asks a server that no system runs. */
#ifndef RUNLOOP_RLSOCKET_H
#define RUNLOOP_RLSOCKET_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A socket. */
typedef struct RLSocket *RLSocketRef;

/** What the system knows a socket by: its file descriptor. */
typedef int RLSocketNativeHandle;

/** How a call went; errno says more. */
typedef RLIndex RLSocketError;
/** The values of RLSocketError. */
enum {
    kRLSocketSuccess = 0, /**< It was done. */
    kRLSocketError = -1,  /**< It failed. */
    kRLSocketTimeout = -2 /**< The time was over first. */
};

/** A kind of socket and an address. */
typedef struct RLSocketSignature {
    int32_t protocolFamily; /**< PF_INET, PF_UNIX, ...; 0 or less: PF_INET. */
    int32_t socketType;     /**< SOCK_STREAM, SOCK_DGRAM, ...; for PF_INET 0 or less is SOCK_STREAM. */
    int32_t protocol;       /**< IPPROTO_TCP, ...; 0 or less: the family's own for the type. */
    RLDataRef address;      /**< A struct sockaddr of the family. */
} RLSocketSignature;

/** What a socket calls back for; bits, of which read, accept and data exclude each other. */
typedef RLOptionFlags RLSocketCallBackType;
/** The values of RLSocketCallBackType. */
enum {
    kRLSocketNoCallBack = 0,      /**< Nothing. */
    kRLSocketReadCallBack = 1,    /**< There is something to read, or to accept. */
    kRLSocketAcceptCallBack = 2,  /**< A client was accepted. */
    kRLSocketDataCallBack = 3,    /**< Data was read. */
    kRLSocketConnectCallBack = 4, /**< The connection stands or has failed. */
    kRLSocketWriteCallBack = 8    /**< There is room to write. */
};

/** A socket's flags. */
enum {
    kRLSocketAutomaticallyReenableReadCallBack = 1,   /**< On by default for sockets that have it; also the next two. */
    kRLSocketAutomaticallyReenableAcceptCallBack = 2, /**< After each client. */
    kRLSocketAutomaticallyReenableDataCallBack = 3,   /**< After each chunk or message. */
    kRLSocketAutomaticallyReenableWriteCallBack = 8,  /**< As long as there is room: calls in every pass. */
    kRLSocketDoNotReuseAddress = 16, /**< RLSocketSetAddress() does not set SO_REUSEADDR; CFSocket never does. */
    kRLSocketLeaveErrors = 64,       /**< Connect callbacks leave SO_ERROR alone, and tell none. */
    kRLSocketCloseOnInvalidate = 128 /**< On by default. */
};

/** Called on the loop's thread. May do anything with the socket, invalidate and release it too, and run the loop.
 *  @param s        the socket.
 *  @param type     one type: several that are due are several calls.
 *  @param address  accept and data: the other side's address. NULL otherwise.
 *  @param data     accept: const RLSocketNativeHandle *. Data: RLDataRef. Connect: NULL, or const int32_t * with
 *                  errno. NULL otherwise.
 *  @param info     the context's. */
typedef void (*RLSocketCallBack)(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data,
                                 void *info);

/** What is handed to the function. Every pointer may be NULL. */
typedef struct RLSocketContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Handed to the function. */
    /** Called in Create, and before each delivery; what it returns in Create is the socket's info. NULL: info itself,
     *  not retained. */
    const void *(*retain)(const void *info);
    /** Called by RLSocketInvalidate(), and after each delivery if there is a retain. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLSocketContext;

/** Tells the kind of sockets, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLTypeID RLSocketGetTypeID(void);

/** Creates a native socket, blocking and close-on-exec, and a socket object for it.
 *  @param allocator       NULL.
 *  @param protocolFamily  PF_INET and so on; 0 or less: PF_INET.
 *  @param socketType      SOCK_STREAM and so on; 0 or less with PF_INET: SOCK_STREAM.
 *  @param protocol        0 or less with PF_INET: TCP or UDP, by the type.
 *  @param callBackTypes   what to call back for.
 *  @param callout         called for it; NULL calls nobody.
 *  @param context         copied; NULL for an info of NULL.
 *  @return the socket, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until invalidation.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with the errno of socket(2), or ENOMEM; a context version other than 0 is reported and gives NULL. An
 *  object whose descriptor was closed behind its back, so that the new one has its number, is reported and invalidated.
 *  Cost: one allocation, two system calls.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLSocketRef RLSocketCreate(RLAllocatorRef allocator, int32_t protocolFamily, int32_t socketType,
                                     int32_t protocol, RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                     const RLSocketContext *context);

/** Creates a socket object for a native socket, or for another descriptor that can be read and written.
 *  @param allocator      NULL.
 *  @param sock           the native socket. One that has a valid socket object gives that one, and the other parameters
 *                        are ignored. A negative number gives a socket that is not valid. If the object is one whose
 *                        descriptor was closed behind its back, so that the number means another file now, that is
 *                        reported, and the object invalidated: a new one is made.
 *  @param callBackTypes  what to call back for.
 *  @param callout        called for it; NULL calls nobody.
 *  @param context        copied; NULL for an info of NULL.
 *  @return the socket, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until invalidation. sock belongs to the object while
 *  kRLSocketCloseOnInvalidate is set.  Thread: any.  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a context version other than 0 is reported and gives NULL. A number that is no
 *  descriptor is found out, and reported, when the source is added; from 1 048 576 on at once, and gives NULL.
 *  Cost: one allocation, one system call, two if connect is among the types.  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT RLSocketRef RLSocketCreateWithNative(RLAllocatorRef allocator, RLSocketNativeHandle sock,
                                               RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                               const RLSocketContext *context);

/** Creates a socket and gives it an address to listen on: RLSocketCreate() and RLSocketSetAddress().
 *  @param allocator      NULL.
 *  @param signature      the kind of socket and the address; not NULL.
 *  @param callBackTypes  what to call back for; together with kRLSocketDoNotReuseAddress, if that is wanted.
 *  @param callout        called for it; NULL calls nobody.
 *  @param context        copied; NULL for an info of NULL.
 *  @return the socket, or NULL if one of the two failed.
 *  Ownership: Create rule; as RLSocketCreate(). The address stays the caller's.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain, and release after a failure.
 *  Errors: NULL with errno; a NULL signature is reported and gives NULL.
 *  Cost: one allocation, five system calls.  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT RLSocketRef RLSocketCreateWithSocketSignature(RLAllocatorRef allocator, const RLSocketSignature *signature,
                                                        RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                                        const RLSocketContext *context);

/** Creates a socket and connects it: RLSocketCreate() and RLSocketConnectToAddress().
 *  @param allocator      NULL.
 *  @param signature      the kind of socket and the address; not NULL.
 *  @param callBackTypes  what to call back for.
 *  @param callout        called for it; NULL calls nobody.
 *  @param context        copied; NULL for an info of NULL.
 *  @param timeout        as for RLSocketConnectToAddress().
 *  @return the socket, or NULL if one of the two failed.
 *  Ownership: Create rule; as RLSocketCreate(). The address stays the caller's.  Thread: any; waits as long as told.
 *  Re-entrancy: allowed in callbacks; calls context.retain, and release after a failure.
 *  Errors: NULL with errno; a NULL signature and a timeout that is not a number are reported and give NULL.
 *  Cost: one allocation, some six system calls.  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT RLSocketRef RLSocketCreateConnectedToSocketSignature(RLAllocatorRef allocator,
                                                               const RLSocketSignature *signature,
                                                               RLOptionFlags callBackTypes, RLSocketCallBack callout,
                                                               const RLSocketContext *context, RLTimeInterval timeout);

/** Binds the socket to an address, and listens on it if it can (with room for 256 clients).
 *  A stream socket gets SO_REUSEADDR first, so that a server that is started again gets its old address at once, not
 *  only when the kernel has forgotten the connections that it closed. An address on which another socket listens is in
 *  use nevertheless (EADDRINUSE). The flag kRLSocketDoNotReuseAddress leaves the option as it is.
 *  @param s        the socket.
 *  @param address  a struct sockaddr.
 *  @return kRLSocketSuccess, or kRLSocketError with the errno of bind(2).
 *  Ownership: the address stays the caller's.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: EBADF for an invalid socket; a wrong handle and a NULL address are reported and give kRLSocketError.
 *  Cost: three system calls.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLSocketError RLSocketSetAddress(RLSocketRef s, RLDataRef address);

/** Connects the socket.
 *  @param s        the socket.
 *  @param address  a struct sockaddr.
 *  @param timeout  seconds. Negative: goes on in the background, and the connect callback tells how it went, if it was
 *                  asked for. 0: as long as it takes.
 *  @return kRLSocketSuccess when it is connected (negative: when that has begun), kRLSocketTimeout, or kRLSocketError
 *  with errno.
 *  Ownership: the address stays the caller's.  Thread: any; waits as long as told, without running the loop.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: errno of connect(2); EBADF for an invalid socket; a wrong handle, a NULL address and a timeout that is not
 *  a number are reported and give kRLSocketError.
 *  Cost: up to six system calls.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLSocketError RLSocketConnectToAddress(RLSocketRef s, RLDataRef address, RLTimeInterval timeout);

/** Ends it: no more callbacks, the native socket closed if kRLSocketCloseOnInvalidate is set, info released, the
 *  source invalidated.
 *  @param s  the socket; may be invalid already.
 *  Ownership: the reference stays the caller's.  Thread: any. While another thread is in the callback, or sending, that
 *  thread closes the native socket and releases info when it is done. Ends another thread's run whose mode is empty
 *  now.
 *  Re-entrancy: allowed in callbacks, the socket's own too; calls context.release.
 *  Errors: a wrong handle is reported.
 *  Cost: at most one epoll_ctl for each loop, and one close.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT void RLSocketInvalidate(RLSocketRef s);

/** Tells whether it was not invalidated yet.
 *  @param s  the socket.
 *  @return true until RLSocketInvalidate().
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: a wrong handle is reported and gives
 *  false.
 *  Cost: O(1), one load.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLBoolean RLSocketIsValid(RLSocketRef s);

/** Tells the socket's own address.
 *  @param s  the socket.
 *  @return a struct sockaddr as data, or NULL if the socket is invalid or no socket. After invalidation the last
 *  answer.
 *  Ownership: Copy rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno; a wrong handle is reported and gives NULL.
 *  Cost: one allocation, one system call.  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT RLDataRef RLSocketCopyAddress(RLSocketRef s);

/** Tells the address of the other side.
 *  @param s  the socket.
 *  @return a struct sockaddr as data, or NULL if it is not connected or invalid. After the other side has gone the
 *  last answer.
 *  Ownership: Copy rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno; a wrong handle is reported and gives NULL.
 *  Cost: one allocation, one system call.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLDataRef RLSocketCopyPeerAddress(RLSocketRef s);

/** Copies the context.
 *  @param s        the socket.
 *  @param context  filled; its version must be 0. After invalidation every pointer is NULL.
 *  Ownership: info is borrowed.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle, NULL and another version are reported; then nothing is written.
 *  Cost: O(1).  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT void RLSocketGetContext(RLSocketRef s, RLSocketContext *context);

/** Tells the native socket.
 *  @param s  the socket, or NULL.
 *  @return the descriptor; -1 after invalidation and for NULL.
 *  Ownership: the socket's.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported and gives -1.
 *  Cost: O(1), one load.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLSocketNativeHandle RLSocketGetNative(RLSocketRef s);

/** Gives the socket's run loop source, which is made at the first call.
 *  @param allocator  NULL.
 *  @param s          the socket.
 *  @param order      of the source, if this call makes it: among several ready descriptors the lowest comes first.
 *  @return the source; the same each time, unless it was invalidated on its own, and then a new one. NULL if s is
 *  invalid.
 *  Ownership: Create rule; the source retains s.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a wrong handle is reported and gives NULL.
 *  Cost: at the first call one allocation.  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT RLRunLoopSourceRef RLSocketCreateRunLoopSource(RLAllocatorRef allocator, RLSocketRef s, RLIndex order);

/** Tells the flags.
 *  @param s  the socket.
 *  @return the flags as they were set: at first kRLSocketCloseOnInvalidate, and the bits of read, accept or data if the
 *  socket has that type.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: a wrong handle is reported and gives 0.
 *  Cost: O(1), one load.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLOptionFlags RLSocketGetSocketFlags(RLSocketRef s);

/** Sets all flags.
 *  @param s      the socket.
 *  @param flags  bits of the kRLSocketAutomaticallyReenable... constants, kRLSocketLeaveErrors and
 *                kRLSocketCloseOnInvalidate; the lowest 8 are kept.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks; what they say of enabling again is looked at
 *  after the callback.
 *  Errors: a wrong handle is reported.
 *  Cost: that of enabling.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT void RLSocketSetSocketFlags(RLSocketRef s, RLOptionFlags flags);

/** Takes back what is enabled. What is under way in this delivery comes nevertheless.
 *  @param s              the socket.
 *  @param callBackTypes  the types; those that the socket was not created with do nothing.
 *  Ownership: none.  Thread: any; on another thread than the loop's a call may be under way.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported; on an invalid socket, and while the source is in no mode, it does nothing.
 *  Cost: that of enabling. One epoll_ctl later, if the socket becomes ready nevertheless.
 *  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT void RLSocketDisableCallBacks(RLSocketRef s, RLOptionFlags callBackTypes);

/** Enables callbacks. What is ready already calls back in the next pass of the loop.
 *  @param s              the socket.
 *  @param callBackTypes  the types; those that the socket was not created with do nothing.
 *  Ownership: none.  Thread: any; a loop that sleeps is woken if it has to look at something new.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported; on an invalid socket, and while the source is in no mode, it does nothing.
 *  Cost: a few stores; on another thread than that of the loop that called it last a membarrier(2). One epoll_ctl of
 *  the loop before it waits next, if it did not watch for this before.
 *  Since: 0.1.  Example: examples/echo.c */
RL_EXPORT void RLSocketEnableCallBacks(RLSocketRef s, RLOptionFlags callBackTypes);

/** Sends data: all of it, unless an error or the timeout comes in between.
 *  @param s        the socket.
 *  @param address  where to, as a struct sockaddr; NULL or empty for a socket that is connected.
 *  @param data     what to send; nothing is an error for a stream.
 *  @param timeout  seconds. Not positive: a blocking socket blocks as long as it takes; one that does not block sends
 *                  what fits, and fails unless that is all of it.
 *  @return kRLSocketSuccess, or kRLSocketError with errno: EAGAIN if there was no room at all, ETIMEDOUT if a part was
 *  sent and the time was over. After other failures, too, a part may have been sent. How much is not known, and what to
 *  do with a stream then is to close it; RLSocketSendBytes() tells.
 *  Ownership: address and data stay the caller's.  Thread: any; waits as long as told, without running the loop.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: errno of send(2), never SIGPIPE; EBADF for an invalid socket; a wrong handle, NULL data and a timeout that
 *  is not a number are reported and give kRLSocketError.
 *  Cost: one system call if there is room.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLSocketError RLSocketSendData(RLSocketRef s, RLDataRef address, RLDataRef data, RLTimeInterval timeout);

/** Sends as much as there is room for, and never waits, whether the socket blocks or not.
 *  To send all of it without blocking the loop, keep what is left, enable the write callback, and send on in that:
 *
 *      case kRLSocketWriteCallBack:
 *          sent = RLSocketSendBytes(s, NULL, rest, restLength);
 *          if (sent < 0 && errno != EAGAIN)
 *              RLSocketInvalidate(s);
 *          else if (sent < restLength)
 *              RLSocketEnableCallBacks(s, kRLSocketWriteCallBack); // and keep rest + sent; sent may be -1
 *
 *  @param s        the socket.
 *  @param address  where to, as a struct sockaddr; NULL or empty for a socket that is connected.
 *  @param bytes    what to send; may be NULL if length is 0.
 *  @param length   how many. A message is sent as a whole, or not.
 *  @return how many bytes were sent, of a stream perhaps fewer than length; or -1 with errno, EAGAIN for no room.
 *  Ownership: address and bytes stay the caller's.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: errno of send(2), never SIGPIPE; EBADF for an invalid socket; a wrong handle, NULL bytes and a negative
 *  length are reported and give -1.
 *  Cost: one system call.  Since: 0.1.  Example: examples/chat.c */
RL_EXPORT RLIndex RLSocketSendBytes(RLSocketRef s, RLDataRef address, const uint8_t *bytes, RLIndex length);

RL_EXTERN_C_END
#endif
