/** @file RLMessagePort.h
 *  Message ports: requests and replies by name, between processes, threads, or within one thread (CFMessagePort).
 *  Examples: examples/message-ports.c, examples/calculator/client.c, examples/calculator/server.c, examples/users.c
 *
 *  A server creates a local port with a name and a callback, and adds the port's run loop source to a loop. A client
 *  creates a remote port for that name and sends requests, each of them a number and some data. The server's callback
 *  receives them one after the other (if the source is in the loops of several threads, each of these calls it) and
 *  returns the replies. Requests are described in RLMessagePortRequest.h.
 *
 *      server                                                    client
 *      port = RLMessagePortCreateLocal(NULL, name, handle, …)    port = RLMessagePortCreateRemote(NULL, name)
 *      RLMessagePortCreateRunLoopSource(NULL, port, 0)           RLMessagePortSendRequest(port, 1, data, …)
 *      RLRunLoopAddSource(…), RLRunLoopRun()
 *        handle(port, 1, data, info) returns a reply
 *
 *  Within one process a request takes no system call, unless it wakes a sleeping loop. (Each pass of a loop that serves
 *  a name makes one, to look for clients.) The object that was sent is the one that arrives: data is copied only if it
 *  is mutable (RLMutableDataRef) or its bytes belong to the caller.
 *
 *  Names
 *  -----
 *  A name is 1 to 255 bytes long and contains no 0 byte. It belongs to the first local port that claims it, until that
 *  port is invalid or its process has ended, however it ended: a crash leaves no name behind. (Unless a child was made
 *  by _Fork() or clone(), without the handlers of fork(), and runs no other program.) Names are visible to the
 *  processes of one user on one machine. They are files in a directory, which is `$RUNLOOP_PORT_DIR`, or else
 *  `$XDG_RUNTIME_DIR/runloop`, or else `/tmp/runloop-UID`, and which is created with mode 0700 if it is missing. A
 *  directory in which others could replace the user's files, or a symbolic link to a directory, is refused; the
 *  directories above it are not checked. Another user can create the one in /tmp first, and a daemon often has no
 *  XDG_RUNTIME_DIR while its clients have one: so set RUNLOOP_PORT_DIR for daemons and their clients. A program that
 *  has more rights than its caller (setuid) ignores both variables. The kernel identifies the other end, and processes
 *  of other users are refused. /proc must be mounted.
 *
 *  The two files of a name whose process has ended are removed when other names are claimed. Do not remove the
 *  files of a server that runs: it is then not found, and without the one with .lock another can claim its name.
 *
 *  Other users
 *  -----------
 *  Processes of two users can connect only if both agree, and only in a directory made for that purpose. The server
 *  allows others to connect: RLMessagePortSetAllowsOtherUsers(). The client names the user that it trusts to serve the
 *  name: RLMessagePortCreateRemoteOfUser(). Both set RUNLOOP_PORT_DIR to the directory. Create it beforehand, in one of
 *  these ways:
 *
 *      install -d -o SERVICE -m 0755 /run/service    only the user SERVICE can serve names in it
 *      install -d -o SERVICE -g GROUP -m 0750 …      as above, and only GROUP may connect
 *      install -d -m 1777 /run/ports                 all users can serve and connect; the first claim of a name wins
 *
 *  - It must belong to root, to the program's own user, or, for a client, to the user that it trusts.
 *  - No other user may write to it, unless it is sticky (the 1 of 1777).
 *  - In a sticky directory the name of a crashed server still belongs to its user: others get EACCES.
 *
 *  Clients that are let in can use up the server's descriptors, one for each connection (before Linux 6.16, even after
 *  its end, and some hundreds more: see SECURITY.md), and memory up to the limits of each. The server's callback finds
 *  out who they are with RLMessagePortGetPeerCredentials(). A connection on which nothing has arrived within 2 s, not
 *  even the first packet of a remote port, is closed when others connect, and earlier when descriptors run out.
 *
 *  Errors
 *  ------
 *  Functions that create or name a port set errno if they fail:
 *
 *      EADDRINUSE    the name is taken; RLMessagePortGetNameOwner() returns the process that serves it
 *      ECONNREFUSED  the name is not served
 *      EACCES        not permitted: the name is another user's, or the directory is not safe
 *      ENAMETOOLONG  the name has more than 255 bytes, or the path of the directory is too long
 *      ENOENT        the directory cannot be created, or /proc is not mounted
 *      EAGAIN        more than a hundred clients are waiting for the server to accept them: try again. A call of
 *                    RLMessagePortGetNameOwner() counts as a client, too
 *      EPIPE         the port is invalid
 *
 *  A request ends with one of six results: RLMessagePortRequest.h. An empty name or one with a 0 byte is misuse.
 *
 *  Trust
 *  -----
 *  Everything that another process sends is validated before it is used. A peer that violates the protocol is
 *  disconnected, with one line to the error handler (RUNLOOP_MISUSE=abort does not apply to it), and no other client is
 *  disturbed. A client whose one-way requests this process has no memory to receive is disconnected, too, since one-way
 *  requests must not be lost silently. A server waits for its clients only a moment before it ends, and accepts no
 *  descriptors from them. If a peer passes some nevertheless, threads of the library close them: at most eight, which
 *  end when that is done. Before Linux 6.16 these threads also close the socket of a peer that is disconnected with
 *  packets still unreceived. SECURITY.md describes the worst that a peer can do.
 *
 *  The end
 *  -------
 *  Invalidating a local port frees its name and disconnects its clients; their remote ports become invalid. A client
 *  that waits for a reply, in a call or with a callback, is notified at once, even if the server is killed. Otherwise a
 *  remote port notices
 *  - when it is next used, or another is created for its name;
 *  - while a loop runs in a mode that is not empty, and in which an earlier request has waited for its reply.
 *  So a port that has sent only one-way requests notices only when it is used. To be told of the end in any case, keep
 *  an asynchronous request without a time limit that the server does not answer.
 *  To survive the restart of a server, release the port that became invalid, and try to create a new one until that
 *  succeeds. The last RLRelease() invalidates a port. A loop that has a local port's source retains the port. In the
 *  child of a fork() all message ports are invalid; their invalidation callbacks are not called (though one that is set
 *  in the child is called at once), and the parent's ports are not disturbed.
 *
 *  Deliberate differences from CFMessagePort
 *  -----------------------------------------
 *  1. A name that is too long is refused with ENAMETOOLONG. CF truncates it.
 *  2. errno says why a port was not created: see "Errors". CF gives no reason.
 *  3. A remote port may be used by several threads at once.
 *  4. The info of a local port is released when its last callback has returned, not while a callback is running.
 *  5. Dispatch queues are not supported, so there is no CFMessagePortSetDispatchQueue.
 *  6. A NULL reply arrives as NULL, as with older versions of CF. Newer ones make it data of length 0.
 *  7. A port may be given the name that it already has. CF's newer versions refuse that.
 *  8. Stopping the loop while it waits for a reply ends the outer run. In CF it has no effect.
 *  9. A remote port that has not waited for a reply notices only in use that its server is gone: see "The end". */
#ifndef RUNLOOP_RLMESSAGEPORT_H
#define RUNLOOP_RLMESSAGEPORT_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
#include <RunLoop/RLString.h>
RL_EXTERN_C_BEGIN

/** A message port, local or remote. */
typedef struct RLMessagePort *RLMessagePortRef;

/** The info of a local port and the functions that manage it. Every pointer may be NULL. */
typedef struct RLMessagePortContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callbacks. */
    /** Called in Create, and again before each callback; what it returns is the info. NULL: info itself, not
     *  retained. */
    const void *(*retain)(const void *info);
    /** Called once for each retain. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLMessagePortContext;

/** Answers a request, on the thread of the loop that received it. It may send requests itself, run the loop, and
 *  invalidate the port.
 *  @param local  the port; retained by the library during the callback.
 *  @param msgid  the number that the sender passed.
 *  @param data   the data that the sender passed, never NULL: no data arrives as data of length 0. Retain it to keep
 *                it.
 *  @param info   the port's info.
 *  @return the reply, which the library releases, or NULL, which the sender receives as NULL. The reply is dropped if
 *  the sender wants none, if RLMessagePortCopyRequest() was called, or if the port has become invalid meanwhile. */
typedef RLDataRef (*RLMessagePortCallBack)(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info);

/** Called when a port was invalidated, on the thread that invalidated it or noticed that it had become invalid. If a
 *  port is invalid already, the function that sets the callback calls it.
 *  @param port  the port; already invalid.
 *  @param info  the port's info; NULL for a remote port, or if it has been released already. */
typedef void (*RLMessagePortInvalidationCallBack)(RLMessagePortRef port, void *info);

/** Returns the type ID of message ports, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLMessagePortGetTypeID(void);

/** Creates a local port, which answers requests once its run loop source is in a mode that runs; earlier ones wait.
 *  If this process has a valid local port with that name, that port is returned, and callout and context are ignored.
 *  @param name            the name to serve; NULL: no name. RLMessagePortSetName() can name the port later.
 *  @param callout         called for each request; not NULL.
 *  @param context         may be NULL; copied.
 *  @param shouldFreeInfo  NULL, or receives 1 if info was not taken, because no port was created or an existing one is
 *                         returned.
 *  @return the port, or NULL.
 *  Ownership: info is retained through context.retain until the port is invalid.  Re-entrancy: calls context.retain.
 *  Errors: EADDRINUSE, EACCES, ENAMETOOLONG, ENOENT, or the error of a system call.
 *  Cost: for a name, two descriptors and O(files in the directory of names): it is read twice. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateLocal(RLAllocatorRef allocator, RLStringRef name,
                                                    RLMessagePortCallBack callout, RLMessagePortContext *context,
                                                    RLBoolean *shouldFreeInfo);

/** Creates a remote port, which sends requests to the server of a name.
 *  If this process has a valid remote port with that name, that port is returned, even if its server has given the name
 *  away since (RLMessagePortSetName).
 *  @param name  the name.
 *  @return the port, or NULL.
 *  Re-entrancy: may call the invalidation callback of a port for that name whose server is gone.
 *  Errors: ECONNREFUSED, EACCES, EAGAIN, ENAMETOOLONG, or the error of a system call.
 *  Cost: some system calls and one descriptor; no descriptor if the name is served in this process. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemote(RLAllocatorRef allocator, RLStringRef name);

/** Creates a remote port to a name that another user serves: see "Other users" above.
 *  If this process has a valid remote port with that name and user, that port is returned.
 *  @param name  the name.
 *  @param uid   the user that is trusted to serve the name, as identified by the kernel.
 *  @return the port, or NULL.
 *  Errors: those of RLMessagePortCreateRemote(); EACCES also if another user serves the name, or does not allow others.
 *  (Root is not stopped by the mode of the file, but is disconnected: it gets ECONNREFUSED, or a port that becomes
 *  invalid at its first use.)  Cost: some system calls and one descriptor. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemoteOfUser(RLAllocatorRef allocator, RLStringRef name, unsigned uid);

/** Returns the process ID of the server of a name, or 0.
 *  @param name  the name.
 *  Errors: 0 with the errno of RLMessagePortCreateRemote(). Otherwise errno is preserved, even if the result is 0
 *  because the process is not visible in the PID namespace of this one.  Cost: some system calls. */
RL_EXPORT int RLMessagePortGetNameOwner(RLStringRef name);

/** Returns 1 if a port is remote, 0 if it is local. */
RL_EXPORT RLBoolean RLMessagePortIsRemote(RLMessagePortRef port);

/** Returns the name of a port; NULL for a local port without one.
 *  Ownership: Get rule; valid until the port is freed or renamed. */
RL_EXPORT RLStringRef RLMessagePortGetName(RLMessagePortRef port);

/** Sets the name of a local port, replacing any name it has. Connected clients stay connected, under the old name.
 *  @param name  the name; may be the one that the port already has.
 *  @return 1 if the port has the name now, else 0.
 *  Errors: EADDRINUSE, EINVAL for a remote port, EPIPE, and those of RLMessagePortCreateLocal().
 *  Cost: O(files in the directory of names), as for RLMessagePortCreateLocal(). */
RL_EXPORT RLBoolean RLMessagePortSetName(RLMessagePortRef port, RLStringRef name);

/** Copies the context of a local port.
 *  @param context  its version must be 0. Info and functions are NULL for a remote port, and once the port has released
 *                  its info.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLMessagePortGetContext(RLMessagePortRef port, RLMessagePortContext *context);

/** Invalidates a port, permanently: see "The end" above.
 *  Waiting requests of this process are dropped, and their senders are notified. A callback that is running on another
 *  thread is not waited for. If this empties the mode of a run on another thread, that run ends. A second call has no
 *  effect.
 *  Ownership: the port's source is released; your reference is not.
 *  Re-entrancy: calls invalidation callbacks (those of the port, of this process's remote ports for it, and of requests
 *  that are to be answered later) and context.release.
 *  Cost: O(clients + waiting requests); some system calls. If large replies are still queued, it waits for their
 *  clients to read them, for a second at most, before it calls the port's own callback: see RLMessagePortRequest.h. */
RL_EXPORT void RLMessagePortInvalidate(RLMessagePortRef port);

/** Returns whether a port is valid. A remote port may not yet have noticed that its server is gone. */
RL_EXPORT RLBoolean RLMessagePortIsValid(RLMessagePortRef port);

/** Returns the port's invalidation callback, or NULL. */
RL_EXPORT RLMessagePortInvalidationCallBack RLMessagePortGetInvalidationCallBack(RLMessagePortRef port);

/** Sets the port's invalidation callback. If the port is already invalid, the callback is called during this call.
 *  @param callout  the callback, or NULL for none.
 *  Re-entrancy: may call callout. */
RL_EXPORT void RLMessagePortSetInvalidationCallBack(RLMessagePortRef port, RLMessagePortInvalidationCallBack callout);

/** Returns the run loop source through which loops receive a local port's requests; NULL if the port is remote or
 *  invalid.
 *  Each call returns the same source as long as that is valid. The source may be in several modes and loops: each
 *  request goes to one of them.
 *  @param order  the order of the source, if this call creates it. It applies only to requests of this process; those
 *                of other processes arrive as on a version-1 source.
 *  Ownership: Create rule; the source retains the port. */
RL_EXPORT RLRunLoopSourceRef RLMessagePortCreateRunLoopSource(RLAllocatorRef allocator, RLMessagePortRef port,
                                                              RLIndex order);

/** Returns whether processes of other users may connect to a local port. */
RL_EXPORT RLBoolean RLMessagePortAllowsOtherUsers(RLMessagePortRef port);

/** Sets whether processes of other users, including root, may connect to a local port; initially they may not.
 *  See "Other users" above. Setting it to 0 disconnects other users. To make a name available to others from the first
 *  moment, create the port without a name, allow other users, and then name the port.
 *  @param allows  1 or 0.
 *  @return 1 if the setting was made, else 0.
 *  Re-entrancy: calls the invalidation callbacks of requests of users that are disconnected.
 *  Errors: 0 with errno EINVAL for a remote port, EPIPE, ENOENT if the name's directory was changed or removed, or the
 *  error of a system call.  Cost: some system calls if the port has a name. */
RL_EXPORT RLBoolean RLMessagePortSetAllowsOtherUsers(RLMessagePortRef port, RLBoolean allows);

/** Returns the capacity of a local port: 1024 unless set. */
RL_EXPORT RLIndex RLMessagePortGetCapacity(RLMessagePortRef port);

/** Sets the capacity of a local port: how many requests of this process may wait in it before senders have to wait.
 *  It is also the number of requests that may be taken over (RLMessagePortCopyRequest()) and unanswered for one client
 *  in another process before that client has to wait. How many may wait from each other process is limited in
 *  bytes: by the kernel to some hundred small requests, and small one-way requests in the ring to half a megabyte. On a
 *  remote port the capacity has no effect.
 *  @param capacity  1 or more; more than 2147483647 is taken as that.
 *  Thread: any; wakes senders that wait.  Cost: O(clients); a system call. */
RL_EXPORT void RLMessagePortSetCapacity(RLMessagePortRef port, RLIndex capacity);

RL_EXTERN_C_END
#endif
