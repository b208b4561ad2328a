/** @file RLListener.h
 *  Listeners: sockets that accept connections, each of them as a call on a loop.
 *  Examples: examples/listener.c
 *
 *      RLListenerRef listener = RLListenerCreateWithHost(NULL, NULL, "8080", connected, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), listener, kRLRunLoopDefaultMode);
 *
 *  The callback receives the descriptor of each new connection and owns it from then on. If each connection is to
 *  become a stream, create the listener with RLServer.h, which does that.
 *
 *  Up to 16 connections are accepted in one pass, and those behind them in the next ones, so that whatever else is
 *  ready has its turn. A connection that its client has given up before it was accepted is passed over.
 *
 *  Shortages
 *  ---------
 *  While the process or the system has no descriptor or no memory left, clients wait in the listener's queue, and the
 *  listener tries again every tenth of a second: nothing is lost, and the loop does not spin. (If there is no memory
 *  for a timer either, it tries again in each pass.) RLListenerGetError() returns the reason meanwhile, or that of any
 *  other error of accept(2) which is not one of the connection or of its network.
 *
 *  Life, threads, fork
 *  -------------------
 *  RLListenerClose() takes the listener out of its loops and closes the socket; so does RLRunLoopSourceInvalidate()
 *  while it is in a loop, and the last RLRelease(). Connections that were accepted stay.
 *
 *  Any thread may call any function. A listener may be in several loops: each connection is told to one of them. So
 *  threads with a loop each can share the work.
 *
 *  In the child of a fork() a listener goes on with the loop of the thread that forked. The socket is that of both
 *  processes, and each connection goes to one of them: close it in the other one. A listener that another thread was
 *  using just then accepts nothing in the child. */
#ifndef RUNLOOPKIT_RLLISTENER_H
#define RUNLOOPKIT_RLLISTENER_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A socket that accepts connections: a run loop source. */
typedef RLRunLoopSourceRef RLListenerRef;

/** Called on the loop's thread for each connection. May do anything with the listener, close and release it too, and
 *  run the loop, which may call it for the next connection.
 *  @param listener    the listener.
 *  @param descriptor  the connected socket, which is yours to close; non-blocking and closed by exec().
 *  @param info        the context's. */
typedef void (*RLListenerCallBack)(RLListenerRef listener, int descriptor, void *info);

/** What is passed to the function. Every pointer may be NULL. */
typedef struct RLListenerContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
    /** Called once, in Create; what it returns is the listener's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the listener is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLListenerContext;

/** Creates a listener for a socket that listens: one with options of yours, or one that was inherited.
 *  @param descriptor         a stream socket after listen(). It is made non-blocking, for all who have it.
 *  @param closeOnInvalidate  whether the listener closes the descriptor.
 *  @param callout            not NULL.
 *  @param context            copied; NULL for an info of NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed. With closeOnInvalidate the
 *  descriptor belongs to the listener; without it, or if the result is NULL, to you.  Re-entrancy: calls
 *  context.retain.
 *  Errors: a descriptor that does not listen is misuse.  Cost: some allocations, up to four system calls. */
RL_EXPORT RLListenerRef RLListenerCreate(RLAllocatorRef allocator, int descriptor, RLBoolean closeOnInvalidate,
                                         RLListenerCallBack callout, const RLListenerContext *context);

/** Creates a listener for TCP.
 *  A restarted server gets its port again at once (SO_REUSEADDR). Up to SOMAXCONN clients wait; listen(), called once
 *  more for the descriptor, sets another number.
 *  @param host     an address of this machine in figures, or a name, of which the first address is taken; NULL: all
 *                  addresses, of IPv6 and IPv4.
 *  @param service  a port in figures, or a name such as "http"; NULL or "0": any port that is free.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed.  Re-entrancy: calls context.retain;
 *  a name is looked up during the call, which may block.
 *  Errors: NULL with errno: EADDRINUSE, EACCES, EADDRNOTAVAIL (also for a name or a port that there is not), EMFILE, …
 *  Cost: some allocations, about ten system calls. */
RL_EXPORT RLListenerRef RLListenerCreateWithHost(RLAllocatorRef allocator, const char *host, const char *service,
                                                 RLListenerCallBack callout, const RLListenerContext *context);

/** Creates a listener for a socket in the file system, or for one with an abstract name.
 *  A socket that an earlier process has left at the path, and that nothing listens on, is replaced. Processes that do
 *  so at the same moment take turns, by a lock of the directory (flock(2)), which the call waits for up to a second.
 *  Without it nothing is replaced: in a directory that may not be read, or while another program holds the lock. The
 *  process that has created the listener removes the path when it closes the listener, if it is still that socket; a
 *  relative path is looked up in the working directory of that time.
 *  @param path     of at most 107 bytes; "@" and a name: abstract, that is not in the file system.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the listener, or NULL.
 *  Ownership: info is retained through context.retain until the listener is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno: EADDRINUSE, EACCES, ENOENT, ENAMETOOLONG, EMFILE, …  Cost: that of
 *  RLListenerCreateWithHost(). */
RL_EXPORT RLListenerRef RLListenerCreateWithPath(RLAllocatorRef allocator, const char *path, RLListenerCallBack callout,
                                                 const RLListenerContext *context);

/** Copies the address that a listener is bound to, with its port.
 *  RLStreamCreateConnectedToAddress() connects to it, also if it stands for all addresses of the machine.
 *  @return a struct sockaddr; NULL after the listener was closed. */
RL_EXPORT RLDataRef RLListenerCopyAddress(RLListenerRef listener);

/** Returns the TCP port; 0 for another kind of socket, and after the listener was closed. */
RL_EXPORT int RLListenerGetPort(RLListenerRef listener);

/** Returns the descriptor; -1 after the listener was closed.
 *  Errors: misuse returns -1. */
RL_EXPORT int RLListenerGetNativeDescriptor(RLListenerRef listener);

/** Sets whether a listener accepts connections, as it does at first. If not, clients wait in its queue.
 *  @param enabled  0: it accepts none.
 *  Thread: if this is not the loop's thread, a call may be under way. */
RL_EXPORT void RLListenerSetEnabled(RLListenerRef listener, RLBoolean enabled);

/** Returns whether a listener accepts connections: RLListenerSetEnabled(). A shortage does not change it. */
RL_EXPORT RLBoolean RLListenerIsEnabled(RLListenerRef listener);

/** Returns why connections cannot be accepted at the moment, as a number of errno(3) (EMFILE, ENFILE, ENOBUFS, …); 0 if
 *  they can, and also while there is no memory for a timer. */
RL_EXPORT int RLListenerGetError(RLListenerRef listener);

/** Ends a listener: it leaves its loops, and the socket is closed if the listener owns it. A second call has no effect.
 *  Thread: does not wait for a call that another thread is in. */
RL_EXPORT void RLListenerClose(RLListenerRef listener);

RL_EXTERN_C_END
#endif
