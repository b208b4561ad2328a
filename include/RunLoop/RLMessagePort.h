/** @file RLMessagePort.h
 *  Message ports: requests and replies by name, between processes, threads, or within one thread (CFMessagePort).
 *  Examples: examples/message-ports.c, examples/calculator/client.c, examples/calculator/server.c, examples/users.c
 *
 *  A server creates a local port with a name and a callback, and puts the port's run loop source into a loop. A client
 *  creates a remote port for that name and sends requests: a number and some data. The server's callback receives them
 *  one after the other and returns the replies. RLMessagePortRequest.h has the requests.
 *
 *      server                                            client
 *      port = RLMessagePortCreateLocal(name, handle)     port = RLMessagePortCreateRemote(name)
 *      source = RLMessagePortCreateRunLoopSource(port)   RLMessagePortSendRequest(port, 1, data, 1, 5, mode, &reply)
 *      RLRunLoopAddSource(…), RLRunLoopRun()
 *        handle(port, 1, data, info) returns a reply
 *
 *  Within one process the kernel is entered only to wake a loop that sleeps, and nothing is copied but data that can
 *  change (RLMutableDataRef) or whose bytes are the caller's: what arrives is the object that was sent.
 *
 *  Names
 *  -----
 *  A name is 1 to 255 bytes, without a 0 byte. It belongs to the first local port that takes it, until the port is
 *  invalid or its process has ended, in whatever way: a crash leaves no name behind. Names are known to the processes
 *  of one user on one machine. They are files in a directory, `$RUNLOOP_PORT_DIR`, else `$XDG_RUNTIME_DIR/runloop`,
 *  else `/tmp/runloop-UID`, which is created with mode 0700 if it is missing. A directory in which others could replace
 *  the user's files, or a symbolic link to one, is refused. The kernel identifies the other end, and processes of other
 *  users are refused. /proc must be mounted.
 *
 *  Other users
 *  -----------
 *  Two users can connect only if both agree, and only in a directory made for that purpose. The server allows others to
 *  connect: RLMessagePortSetAllowsOtherUsers(). The client names the user that it trusts to serve the name:
 *  RLMessagePortCreateRemoteOfUser(). Both set RUNLOOP_PORT_DIR to the directory. Create it beforehand, in one of these
 *  ways:
 *
 *      install -d -o SERVICE -m 0755 /run/service    only the user SERVICE can serve names in it
 *      install -d -o SERVICE -g GROUP -m 0750 …      as above, and only GROUP may connect
 *      install -d -m 1777 /run/ports                 all users can; the first claim of a name wins
 *
 *  - It must belong to root, to the program's own user, or, for a client, to the user that it trusts.
 *  - No other user may write to it, unless it is sticky (the 1 of 1777).
 *  - In a sticky one the name of a crashed server still belongs to its user: others get EACCES.
 *
 *  Clients that are let in can use up the server's descriptors, one for each connection, and memory up to the limits
 *  of each; its callback learns who they are by RLMessagePortGetPeerCredentials(). A connection that has received
 *  nothing for 2 s, not even the first packet of a remote port, is closed when others connect, and earlier when
 *  descriptors run out.
 *
 *  Errors
 *  ------
 *  A function that creates or names a port sets errno if it fails:
 *
 *      EADDRINUSE    the name is taken; RLMessagePortGetNameOwner() returns by which process
 *      ECONNREFUSED  the name is not served
 *      EACCES        not permitted: it is another user's, or the directory is not safe
 *      ENAMETOOLONG  more than 255 bytes, or the path of the directory is too long
 *      ENOENT        the directory cannot be created, or /proc is not mounted
 *      EAGAIN        more than a hundred clients wait to be accepted by the server: try again
 *      EPIPE         the port is invalid
 *
 *  How a request ended is one of six results: RLMessagePortRequest.h. An empty name or one with a 0 byte is misuse.
 *
 *  Trust
 *  -----
 *  What comes from another process is validated before it is used. A peer that violates the protocol is disconnected,
 *  with one line to the error handler (RUNLOOP_MISUSE=abort does not apply to it), and no other client is disturbed. So
 *  is a client whose one-way requests this process has no memory to receive, since one-way requests must not be lost
 *  silently. A server takes no descriptors from its clients, and no call of it waits for them. SECURITY.md says what a
 *  peer can do at worst.
 *
 *  The end
 *  -------
 *  Invalidating a local port frees its name and disconnects its clients; remote ports become invalid. A client that
 *  waits is told at once, also when the server is killed. Otherwise a remote port notices when it is used next, or
 *  another is created for its name, and while a loop runs in a mode that is not empty and was a reply mode of the port.
 *  To survive the restart of a server, release the port that became invalid, and create a new one until that succeeds.
 *  The last RLRelease() invalidates a port. A loop that has a local port's source retains it. In the child of a fork()
 *  all message ports are invalid; their callbacks are not called (though one that is set in the child is called at
 *  once), and the parent's are not disturbed.
 *
 *  Deliberate differences from CFMessagePort
 *  -----------------------------------------
 *  1. A name that is too long is refused with ENAMETOOLONG. CF cuts it.
 *  2. errno says why a port was not created: see "Errors". CF gives no reason.
 *  3. A remote port may be used by several threads at once.
 *  4. The info of a local port is released when its last callback has returned, not while one runs.
 *  5. There are no dispatch queues, and so no CFMessagePortSetDispatchQueue.
 *  6. A NULL reply arrives as NULL, as with older versions of CF. Newer ones make it data of length 0.
 *  7. A port may be given the name that it has. CF's newer versions refuse that.
 *  8. Stopping the loop while it waits for a reply ends the outer run. With CF it has no effect. */
#ifndef RUNLOOP_RLMESSAGEPORT_H
#define RUNLOOP_RLMESSAGEPORT_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
#include <RunLoop/RLString.h>
RL_EXTERN_C_BEGIN

/** A message port, local or remote. */
typedef struct RLMessagePort *RLMessagePortRef;

/** What a local port carries. Every pointer may be NULL. */
typedef struct RLMessagePortContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callbacks. */
    /** Called in Create, and again around each callback; what it returns is the info. NULL: info itself. */
    const void *(*retain)(const void *info);
    /** Called once for each retain. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLMessagePortContext;

/** Answers a request, on the thread of the loop that received it. May send requests itself, run the loop, and
 *  invalidate the port.
 *  @param local  the port; retained by the library during the call.
 *  @param msgid  as the sender passed it.
 *  @param data   as the sender passed it, never NULL: no data is data of length 0. Retain it to keep it.
 *  @param info   that of the context.
 *  @return the reply, which the library releases, or NULL: the sender then gets NULL. It is dropped if the sender wants
 *  no reply, if RLMessagePortCopyRequest() was called, or if the port has become invalid meanwhile. */
typedef RLDataRef (*RLMessagePortCallBack)(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info);

/** Called when a port was invalidated, once, on the thread that did it or noticed it.
 *  @param port  the port; already invalid.
 *  @param info  that of the context; NULL for a remote port, or if it has been released already. */
typedef void (*RLMessagePortInvalidationCallBack)(RLMessagePortRef port, void *info);

/** Returns the kind of message ports, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLMessagePortGetTypeID(void);

/** Creates a local port, which answers requests once its run loop source is in a mode that runs; earlier ones wait.
 *  If this process has a valid local port of that name, it is returned, and callout and context are ignored.
 *  @param name            the name to serve; NULL for none: RLMessagePortSetName() names it later.
 *  @param callout         called for each request; not NULL.
 *  @param context         may be NULL; copied.
 *  @param shouldFreeInfo  NULL, or where 1 is written if info was not taken: no port was created, or an existing one
 *                         returned.
 *  @return the port, or NULL.
 *  Ownership: info is retained through context.retain until the port is invalid.  Re-entrancy: calls context.retain.
 *  Errors: EADDRINUSE, EACCES, ENAMETOOLONG, ENOENT, or what the system says.
 *  Cost: some system calls and two descriptors for a name. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateLocal(RLAllocatorRef allocator, RLStringRef name,
                                                    RLMessagePortCallBack callout, RLMessagePortContext *context,
                                                    RLBoolean *shouldFreeInfo);

/** Creates a remote port, which sends requests to the server of a name.
 *  If this process has a valid remote port of that name, it is returned.
 *  @param name  the name.
 *  @return the port, or NULL.
 *  Re-entrancy: may call the invalidation callback of a port for that name whose server is gone.
 *  Errors: ECONNREFUSED, EACCES, EAGAIN, ENAMETOOLONG, or what the system says.
 *  Cost: some system calls and one descriptor; none if the name is served in this process. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemote(RLAllocatorRef allocator, RLStringRef name);

/** Creates a remote port to a name that another user serves: see "Other users" above.
 *  If this process has a valid remote port of that name and user, it is returned.
 *  @param name  the name.
 *  @param uid   the user that is trusted to serve the name; the kernel says whether it does.
 *  @return the port, or NULL.
 *  Errors: those of RLMessagePortCreateRemote(); EACCES also if another user serves the name, or does not allow others.
 *  (Root is not stopped by the file's mode but disconnected: it gets ECONNREFUSED, or a port that becomes invalid at
 *  the first use.)  Cost: some system calls and one descriptor. */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemoteOfUser(RLAllocatorRef allocator, RLStringRef name, unsigned uid);

/** Returns the process id of the server of a name, or 0.
 *  @param name  the name.
 *  Errors: 0 with the errno of RLMessagePortCreateRemote(); otherwise errno is preserved.  Cost: some system calls. */
RL_EXPORT int RLMessagePortGetNameOwner(RLStringRef name);

/** Returns 1 if a port is remote, 0 if it is local. */
RL_EXPORT RLBoolean RLMessagePortIsRemote(RLMessagePortRef port);

/** Returns the name of a port; NULL for a local port without one.
 *  Ownership: Get rule; valid until the port is freed or renamed. */
RL_EXPORT RLStringRef RLMessagePortGetName(RLMessagePortRef port);

/** Names a local port, in place of any name it has. Connected clients stay connected.
 *  @param name  the name; may be the one it has already.
 *  @return 1 if the port has the name now, else 0.
 *  Errors: EADDRINUSE, EINVAL for a remote port, EPIPE, and those of RLMessagePortCreateLocal().
 *  Cost: some system calls. */
RL_EXPORT RLBoolean RLMessagePortSetName(RLMessagePortRef port, RLStringRef name);

/** Copies the context of a local port.
 *  @param context  its version must be 0. Info and functions are NULL for a remote port, and once the port has released
 *                  its info.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLMessagePortGetContext(RLMessagePortRef port, RLMessagePortContext *context);

/** Ends a port for good: see "The end" above.
 *  Waiting requests of this process are dropped, and their senders are told. Does not wait for a callback that is
 *  running on another thread. If this empties the mode of a run on another thread, that run ends. A second call has no
 *  effect.
 *  Ownership: the port's source is released; your reference is not.
 *  Re-entrancy: calls invalidation callbacks (the port's, those of this process's remote ports for it, and of requests
 *  that are to be answered later) and context.release.
 *  Cost: O(clients + waiting requests); some system calls. */
RL_EXPORT void RLMessagePortInvalidate(RLMessagePortRef port);

/** Returns whether a port is still valid. A remote port may not have noticed yet that its server is gone. */
RL_EXPORT RLBoolean RLMessagePortIsValid(RLMessagePortRef port);

/** Returns the port's invalidation callback, or NULL. */
RL_EXPORT RLMessagePortInvalidationCallBack RLMessagePortGetInvalidationCallBack(RLMessagePortRef port);

/** Sets the port's invalidation callback. If the port is invalid already, it is called at once.
 *  @param callout  the callback, or NULL for none.
 *  Re-entrancy: may call callout. */
RL_EXPORT void RLMessagePortSetInvalidationCallBack(RLMessagePortRef port, RLMessagePortInvalidationCallBack callout);

/** Returns the run loop source by which loops receive for a local port; NULL if the port is remote or invalid.
 *  It is the same each time, while it is valid. It may be in several modes and loops: each request goes to one of them.
 *  @param order  of the source, if this call creates it. It orders requests of this process only; those of others come
 *                like a version-1 source's.
 *  Ownership: Create rule; the source retains the port. */
RL_EXPORT RLRunLoopSourceRef RLMessagePortCreateRunLoopSource(RLAllocatorRef allocator, RLMessagePortRef port,
                                                              RLIndex order);

/** Returns whether processes of other users may connect to a local port. */
RL_EXPORT RLBoolean RLMessagePortAllowsOtherUsers(RLMessagePortRef port);

/** Sets whether processes of other users, root among them, may connect to a local port; at first they may not.
 *  See "Other users" above. Setting it to 0 disconnects other users. For a name that others can use from the first
 *  moment on, create the port without a name, allow them, and then name it.
 *  @param allows  1 or 0.
 *  @return 1 if it is set now, else 0.
 *  Re-entrancy: calls the invalidation callbacks of requests of users that are disconnected.
 *  Errors: 0 with errno EINVAL for a remote port, EPIPE, ENOENT if the name's directory was changed or removed, or what
 *  the system says.  Cost: some system calls if the port has a name. */
RL_EXPORT RLBoolean RLMessagePortSetAllowsOtherUsers(RLMessagePortRef port, RLBoolean allows);

/** Returns the capacity of a local port: 1024 unless it was set. */
RL_EXPORT RLIndex RLMessagePortGetCapacity(RLMessagePortRef port);

/** Sets how many requests of this process may wait in a local port before senders have to wait, and how many of one
 *  client in another process may be taken over and unanswered before it has to wait: RLMessagePortCopyRequest().
 *  How many may wait from each other process is limited by the kernel, in bytes: some hundred small requests. On a
 *  remote port it has no effect.
 *  @param capacity  1 or more; more than 2147483647 is taken as that.
 *  Thread: any; wakes senders that wait.  Cost: O(clients). */
RL_EXPORT void RLMessagePortSetCapacity(RLMessagePortRef port, RLIndex capacity);

RL_EXTERN_C_END
#endif
