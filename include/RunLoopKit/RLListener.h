/** @file RLListener.h
 *  Listeners: sockets that accept connections, with a callback on a loop for each of them.
 *  Examples: examples/listener.c
 *
 *      RLListenerRef listener = RLListenerCreateWithHost(NULL, NULL, "8080", connected, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), listener, kRLRunLoopDefaultMode);
 *
 *  The callback receives the descriptor of each new connection and owns it from then on. If each connection is to
 *  become a stream, create the listener with RLServer.h, which does that.
 *
 *  Up to 16 connections are accepted in one pass and the remaining ones in the next passes, so that whatever else is
 *  ready has its turn. A connection that its client has already closed is accepted like any other: reading it returns
 *  what the client has sent, and then the end or ECONNRESET. One that accept(2) reports as failed is skipped.
 *
 *  Shortages
 *  ---------
 *  While the process or the system has no descriptor or no memory left, clients wait in the listener's queue, and the
 *  listener tries again every tenth of a second: no connection is lost, and the loop does not spin. (Without memory for
 *  a timer, it tries again in each pass.) Meanwhile RLListenerGetError() returns the reason. It also returns any other
 *  error of accept(2) that does not come from one connection or its network.
 *
 *  Life, threads, fork
 *  -------------------
 *  RLListenerClose() removes the listener from its loops and closes the socket; so does RLRunLoopSourceInvalidate()
 *  while the listener is in a loop, and so does the last RLRelease(). Accepted connections stay open.
 *
 *  Any thread may call any function. A listener may be in several loops; each connection is passed to one of them. So
 *  several threads, each with its loop, can share the work.
 *
 *  In the child of a fork() a listener continues with the loop of the thread that forked. Parent and child share the
 *  socket, and each connection goes to one of them: close the listener in the other. A listener that another thread was
 *  using at the moment of the fork accepts nothing in the child. */
#ifndef RUNLOOPKIT_RLLISTENER_H
#define RUNLOOPKIT_RLLISTENER_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A socket that accepts connections: a run loop source. */
typedef RLRunLoopSourceRef RLListenerRef;

/** Called on the loop's thread for each connection. It may use the listener in any way, also close and release it, and
 *  run the loop, which may call it for the next connection.
 *  @param listener    the listener.
 *  @param descriptor  the connected socket, non-blocking and close-on-exec. You own it and have to close it.
 *  @param info        the listener's info. */
typedef void (*RLListenerCallBack)(RLListenerRef listener, int descriptor, void *info);

/** The info of a listener and the functions that manage it. Every pointer may be NULL. */
typedef struct RLListenerContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the listener's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the listener is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLListenerContext;

/** Creates a listener for a listening socket, for instance one with special options, or one that was inherited.
 *  @param descriptor         a stream socket after listen(). It is made non-blocking for every process that shares it.
 *  @param closeOnInvalidate  whether the listener closes the descriptor.
 *  @param callout            not NULL.
 *  @param context            copied; NULL: info is NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed. With closeOnInvalidate the
 *  descriptor belongs to the listener; without it, or if the result is NULL, to you.  Re-entrancy: calls
 *  context.retain.
 *  Errors: a descriptor that does not listen is misuse.  Cost: some allocations, up to six system calls. */
RL_EXPORT RLListenerRef RLListenerCreate(RLAllocatorRef allocator, int descriptor, RLBoolean closeOnInvalidate,
                                         RLListenerCallBack callout, const RLListenerContext *context);

/** Creates a listener for TCP.
 *  A server can use its port again immediately after a restart (SO_REUSEADDR). Up to SOMAXCONN clients wait; to change
 *  that number, call listen() again for the descriptor.
 *  @param host     a numeric address of this machine, or a name, whose first address is used; NULL: all addresses, of
 *                  IPv6 and IPv4.
 *  @param service  a numeric port, or a name such as "http"; NULL or "0": any free port.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed.  Re-entrancy: calls context.retain.
 *  A name is looked up during the call, which may block.
 *  Errors: NULL with errno: EADDRINUSE, EACCES, EADDRNOTAVAIL (also for a name or a port that does not exist), EMFILE,
 *  …  Cost: some allocations, about ten system calls. */
RL_EXPORT RLListenerRef RLListenerCreateWithHost(RLAllocatorRef allocator, const char *host, const char *service,
                                                 RLListenerCallBack callout, const RLListenerContext *context);

/** Creates a listener for a socket in the file system, or for one with an abstract name.
 *  If an earlier process has left a socket at the path and nothing listens on it, the socket is replaced. Processes
 *  that do so at the same time take turns, by locking the directory (flock(2)); the call waits up to a second for the
 *  lock. Without the lock nothing is replaced, that is, if the directory may not be read or another program holds the
 *  lock. When the listener is closed by the process that created it, the path is removed if it is still that socket. A
 *  relative path is then looked up in the current working directory.
 *  @param path     at most 107 bytes; "@" and a name: an abstract socket, which is not in the file system.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno: EADDRINUSE, EACCES, ENOENT, ENAMETOOLONG, EMFILE, …  Cost: that of
 *  RLListenerCreateWithHost(). */
RL_EXPORT RLListenerRef RLListenerCreateWithPath(RLAllocatorRef allocator, const char *path, RLListenerCallBack callout,
                                                 const RLListenerContext *context);

/** Copies the address that a listener is bound to, including its port.
 *  RLStreamCreateConnectedToAddress() can connect to it, even if it stands for all addresses of the machine.
 *  @return a struct sockaddr; NULL after the listener was closed. */
RL_EXPORT RLDataRef RLListenerCopyAddress(RLListenerRef listener);

/** Returns the TCP port; 0 if the listener has another kind of socket or was closed. */
RL_EXPORT int RLListenerGetPort(RLListenerRef listener);

/** Returns the descriptor; -1 after the listener was closed.
 *  Errors: misuse returns -1. */
RL_EXPORT int RLListenerGetNativeDescriptor(RLListenerRef listener);

/** Sets whether a listener accepts connections. At first it does. While it does not, clients wait in its queue.
 *  @param enabled  0: it accepts no connections.
 *  Thread: on a thread other than the loop's, it may return while a callback is still running. */
RL_EXPORT void RLListenerSetEnabled(RLListenerRef listener, RLBoolean enabled);

/** Returns whether a listener accepts connections: see RLListenerSetEnabled(). A shortage does not change it. */
RL_EXPORT RLBoolean RLListenerIsEnabled(RLListenerRef listener);

/** Returns why connections cannot be accepted at present, as an errno value (EMFILE, ENFILE, ENOBUFS, …); 0 if they can
 *  be, and also during a shortage if there is no memory for the timer that ends it. */
RL_EXPORT int RLListenerGetError(RLListenerRef listener);

/** Closes a listener: it is removed from its loops, and the socket is closed if the listener owns it. A second call has
 *  no effect.
 *  Thread: does not wait for a callback that is running on another thread. */
RL_EXPORT void RLListenerClose(RLListenerRef listener);

RL_EXTERN_C_END
#endif
