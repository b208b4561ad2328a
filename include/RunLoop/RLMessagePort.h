/** @file RLMessagePort.h
 *  Message ports: requests and replies by name, between processes, threads, or within one thread (CFMessagePort).
 *
 *  A server makes a local port with a name and a callback, and puts the port's run loop source into a loop. A client
 *  makes a remote port for that name and sends requests: a number and some data. The server's callback gets them one
 *  after the other and returns the reply. RLMessagePortRequest.h has the requests.
 *
 *      server                                            client
 *      port = RLMessagePortCreateLocal(name, handle)     port = RLMessagePortCreateRemote(name)
 *      source = RLMessagePortCreateRunLoopSource(port)   RLMessagePortSendRequest(port, 1, data, 1, 5, mode, &reply)
 *      RLRunLoopAddSource(…), RLRunLoopRun()
 *        handle(port, 1, data, info) returns a reply
 *
 *  If both are in one process the kernel takes no part, except to wake a loop that sleeps, and nothing is copied but
 *  data that can change (RLMutableDataRef) or whose bytes are lent: what arrives is what was sent.
 *
 *  Names
 *  -----
 *  A name is 1 to 255 bytes, without a 0 byte. It belongs to the first local port that takes it, until the port is
 *  invalid or its process has ended, however it ended: a crash leaves no name behind, and its files are removed by
 *  those who claim names in the directory later, a few at a time. Names are known to the processes
 *  of one user on one machine. They are files (locks and sockets) in a directory, `$RUNLOOP_PORT_DIR`, else
 *  `$XDG_RUNTIME_DIR/runloop`, else `/tmp/runloop-UID`, which is made with mode 0700 if it is missing. A directory in
 *  which others could replace the user's files, or a symbolic link to one, is refused. The kernel tells who is at the
 *  other end; who is not the same user is not talked to. /proc must be there.
 *
 *  Other users
 *  -----------
 *  Two users meet only if both say so, and in a directory that was made for it. The server says that others may come:
 *  RLMessagePortSetAllowsOtherUsers(). The client says which user it trusts to serve the name:
 *  RLMessagePortCreateRemoteOfUser(). Both have the directory in RUNLOOP_PORT_DIR. It is made beforehand, as one of
 *
 *      install -d -o SERVICE -m 0755 /run/service    only the user SERVICE can serve names in it
 *      install -d -o SERVICE -g GROUP -m 0750 …      the same, and only GROUP comes in
 *      install -d -m 1777 /run/ports                 all users can; a name is whose program was first
 *
 *  It must belong to root, to the program's own user, or, for a client, to the user that it trusts; nobody else may
 *  have the right to write to it, unless it is sticky (the 1 of 1777). In a sticky one the name of a server that
 *  crashed stays its user's: others get EACCES. Who is let in can use up the server's descriptors and memory; its
 *  callback learns who asks by RLMessagePortGetPeerCredentials().
 *
 *  Errors
 *  ------
 *  A function that makes a port or gives it a name says in errno why it did not:
 *
 *      EADDRINUSE    the name is taken; RLMessagePortGetNameOwner() tells by which process
 *      ECONNREFUSED  nobody serves the name
 *      EACCES        not permitted: it is another user's, or the directory is not safe
 *      ENAMETOOLONG  more than 255 bytes, or too long a path of the directory
 *      ENOENT        the directory cannot be made, or /proc, by which a process finds what is in it, is not mounted
 *      EAGAIN        more than a hundred clients wait for the server to hear them: try again
 *
 *  How a request ended is one of six results: RLMessagePortRequest.h.
 *
 *  Trust
 *  -----
 *  What comes from another process is looked at before it is used. Whoever sends something that makes no sense is cut
 *  off, one line goes to the error handler (RUNLOOP_MISUSE=abort does not apply to it), and nobody else is disturbed.
 *  The same becomes of a client whose requests without a reply this process has no memory or descriptors to receive,
 *  since nothing may be missing between them.
 *
 *  The end
 *  -------
 *  Invalidating a local port frees its name and cuts its clients off; remote ports become invalid. A client that waits
 *  hears of that at once, also when the server is killed. Otherwise a remote port notices it when it is used or asked
 *  for next, and while a loop runs in a mode that is not empty and was a reply mode of the port. To survive the restart
 *  of a server: release the port that became invalid, and create one anew, until that succeeds. The last RLRelease()
 *  invalidates a port. A loop that has a local port's source keeps it. In the child of a fork() all message ports are
 *  invalid; their callbacks are not called, and the parent's are not disturbed.
 *
 *  Deliberate differences from CFMessagePort
 *  -----------------------------------------
 *  1. A name that is too long is refused with ENAMETOOLONG. CF cuts it.
 *  2. errno says why a port was not made: see "Errors". CF gives no reason.
 *  3. A remote port may be used by several threads at once.
 *  4. The info of a local port is released when its last callback has returned, not while one runs.
 *  5. There are no dispatch queues, and so no CFMessagePortSetDispatchQueue.
 *  6. A NULL reply arrives as NULL, as with older versions of CF. Newer ones make it data of length 0.
 *  7. A port may be given the name that it has. CF's newer versions refuse that.
 *  8. A stop of the loop while it waits for a reply ends the run outside. With CF it has no effect. */
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
    void *info;      /**< Handed to the callbacks. */
    /** Called in Create, and again around each callback; what it returns is the info. NULL: info itself. */
    const void *(*retain)(const void *info);
    /** Called once for each retain. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLMessagePortContext;

/** Answers a request, on the thread of the loop that received it. May send requests itself, run the loop, and
 *  invalidate the port.
 *  @param local  the port; held by the library during the call.
 *  @param msgid  what the sender gave.
 *  @param data   what the sender gave, never NULL: no data is data of length 0. Retain it to keep it.
 *  @param info   that of the context.
 *  @return the reply, which the library releases, or NULL: the sender then gets NULL. Nobody sees it if the sender
 *          wants no reply, if RLMessagePortCopyRequest() was called, or if the port has become invalid meanwhile. */
typedef RLDataRef (*RLMessagePortCallBack)(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info);

/** Hears that a port was invalidated, once, on the thread that did it or noticed it.
 *  @param port  the port; already invalid.
 *  @param info  that of the context; NULL for a remote port, or if it has been released already. */
typedef void (*RLMessagePortInvalidationCallBack)(RLMessagePortRef port, void *info);

/** Tells the kind of message ports, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLTypeID RLMessagePortGetTypeID(void);

/** Creates a local port, which answers requests once its run loop source is in a mode that runs; those that come before
 *  wait. If this process has a valid local port of that name, that one is returned, and callout and context are
 *  ignored.
 *  @param allocator       NULL.
 *  @param name            the name to serve; NULL for none: RLMessagePortSetName() gives it one later.
 *  @param callout         called for each request; not NULL.
 *  @param context         may be NULL; copied.
 *  @param shouldFreeInfo  NULL, or where 1 is written if info was not taken, because there is no port or it is another.
 *  @return the port, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the port is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno EADDRINUSE if another process has the name, EACCES, ENAMETOOLONG, or what the system says; a
 *  NULL callout, an unknown version, an empty name or one with a 0 byte is reported and gives NULL.
 *  Cost: some system calls for a name; two descriptors.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLMessagePortRef RLMessagePortCreateLocal(RLAllocatorRef allocator, RLStringRef name,
                                                    RLMessagePortCallBack callout, RLMessagePortContext *context,
                                                    RLBoolean *shouldFreeInfo);

/** Creates a remote port, which sends requests to whoever serves a name now. If this process has a valid remote port of
 *  that name, that one is returned.
 *  @param allocator  NULL.
 *  @param name       the name.
 *  @return the port, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ECONNREFUSED if nobody serves the name, EACCES, EAGAIN if too many clients wait for the
 *  server to hear them, ENAMETOOLONG, or what the system says; an empty name or one with a 0 byte is reported and gives
 *  NULL.
 *  Cost: some system calls and one descriptor; none if the name is served in this process, one call for a port that
 *  there is.  Since: 0.1.
 *  Example: examples/message-ports.c */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemote(RLAllocatorRef allocator, RLStringRef name);

/** Creates a remote port to a name that another user serves: RLMessagePortCreateRemote() connects to this process's own
 *  user only. See "Other users" above. If this process has a valid remote port of that name and user, that one is
 *  returned.
 *  @param allocator  NULL.
 *  @param name       the name.
 *  @param uid        the user that is trusted to serve the name; the kernel says whether it is.
 *  @return the port, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: as for RLMessagePortCreateRemote(); EACCES also if another user serves the name, or does not allow others.
 *  (Root, whom the file's mode does not stop, is cut off: it gets ECONNREFUSED, or a port that ends at the first use.)
 *  Cost: some system calls and one descriptor; one call for a port that there is.  Since: 0.1.
 *  Example: examples/users.c */
RL_EXPORT RLMessagePortRef RLMessagePortCreateRemoteOfUser(RLAllocatorRef allocator, RLStringRef name, unsigned uid);

/** Tells which process serves a name.
 *  @param name  the name.
 *  @return its process id, or 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 with errno as for RLMessagePortCreateRemote(); otherwise errno stays what it was.
 *  Cost: some system calls.  Since: 0.1.  Example: examples/calculator/client.c */
RL_EXPORT int RLMessagePortGetNameOwner(RLStringRef name);

/** Tells whether a port is a remote one.
 *  @param port  not NULL.
 *  @return 1 if it is remote, 0 if it is local, or on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLBoolean RLMessagePortIsRemote(RLMessagePortRef port);

/** Tells the name of a port.
 *  @param port  not NULL.
 *  @return the name; NULL for a local port without one, or on a mistake.
 *  Ownership: Get rule; good until the port is freed or gets another name.  Thread: any.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLStringRef RLMessagePortGetName(RLMessagePortRef port);

/** Gives a local port a name, instead of the one it may have. Clients that it has stay.
 *  @param port  a local port.
 *  @param name  the name; the one that it has is fine.
 *  @return 1 if the port has the name now, else 0.
 *  Ownership: name is retained.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 with errno EADDRINUSE if the name is taken, EINVAL for a remote port, EPIPE for an invalid one, and as for
 *  RLMessagePortCreateLocal().
 *  Cost: some system calls.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLBoolean RLMessagePortSetName(RLMessagePortRef port, RLStringRef name);

/** Copies the context of a local port.
 *  @param port     not NULL.
 *  @param context  not NULL; its version must be 0. Info and functions are NULL for a remote port, and once the port
 *                  has released its info.
 *  Ownership: info is not retained for you.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object or another version is reported, and nothing is written.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT void RLMessagePortGetContext(RLMessagePortRef port, RLMessagePortContext *context);

/** Ends a port for good: see "The end" above. Requests of this process that wait are dropped, and their senders hear of
 *  it. A callback that runs on another thread is not waited for. A second call has no effect.
 *  @param port  not NULL.
 *  Ownership: the port's source is released; your reference is untouched.  Thread: any; ends another
 *  thread's run whose mode is empty now.
 *  Re-entrancy: allowed in callbacks, also its own; calls the invalidation callback and context.release.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(clients + waiting requests); some system calls.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT void RLMessagePortInvalidate(RLMessagePortRef port);

/** Tells whether a port was not invalidated.
 *  @param port  not NULL.
 *  @return 1 if it is valid, else 0. A remote port may not have noticed yet that its server is gone.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLBoolean RLMessagePortIsValid(RLMessagePortRef port);

/** Tells who hears of the port's invalidation.
 *  @param port  not NULL.
 *  @return the callback, or NULL.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLMessagePortInvalidationCallBack RLMessagePortGetInvalidationCallBack(RLMessagePortRef port);

/** Says who is to hear of the port's invalidation. If the port is invalid already, the callback is called at once.
 *  @param port     not NULL.
 *  @param callout  the callback, or NULL for nobody.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; may call callout.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT void RLMessagePortSetInvalidationCallBack(RLMessagePortRef port, RLMessagePortInvalidationCallBack callout);

/** Gives the run loop source by which loops receive for a local port: the same one each time, while it is valid.
 *  It may be in several modes and loops: each request goes to one of them.
 *  @param allocator  NULL.
 *  @param port       a local port.
 *  @param order      of the source, if this call makes it. It orders requests of this process only; those of others
 *                    come as a version-1 source's would.
 *  @return the source, or NULL.
 *  Ownership: Create rule; the source retains the port.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL if the port is remote or invalid, or with errno ENOMEM; NULL or another kind of object is reported and
 *  gives NULL.
 *  Cost: O(1); allocates the first time; no system call.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLRunLoopSourceRef RLMessagePortCreateRunLoopSource(RLAllocatorRef allocator, RLMessagePortRef port,
                                                              RLIndex order);

/** Tells whether processes of other users may connect to a local port.
 *  @param port  not NULL.
 *  @return 1 if they may, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/users.c */
RL_EXPORT RLBoolean RLMessagePortAllowsOtherUsers(RLMessagePortRef port);

/** Says whether processes of other users, root among them, may connect to a local port; at first they may not. See
 *  "Other users" above. When they no longer may, those that have are cut off. A port that is to have a name for
 *  others from the first moment on is made without one, told this, and then given its name.
 *  @param port    a local port.
 *  @param allows  1 or 0.
 *  @return 1 if it is so now, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 with errno EINVAL for a remote port, EPIPE for an invalid one, ENOENT if the name's directory was changed
 *  or removed, or what the system says; NULL or another kind of object is reported and gives 0.
 *  Cost: some system calls if the port has a name.  Since: 0.1.  Example: examples/users.c */
RL_EXPORT RLBoolean RLMessagePortSetAllowsOtherUsers(RLMessagePortRef port, RLBoolean allows);

/** Tells how many requests of this process may wait in a local port before senders have to.
 *  @param port  not NULL.
 *  @return the capacity, 1024 unless it was set; 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT RLIndex RLMessagePortGetCapacity(RLMessagePortRef port);

/** Sets how many requests of this process may wait in a local port before senders have to. For each other process the
 *  limit is the kernel's, on bytes: about 200 KB, or 270 requests of 64 bytes, and 1 600 more of those through memory
 *  that is shared for many small ones (RLMessagePortRequest.h). Of large ones, whose data is in files in memory that
 *  the sender pays for, 270 may wait, too.
 *  @param port      not NULL.
 *  @param capacity  1 or more; what is beyond 2147483647 counts as that.
 *  Ownership: none changes.  Thread: any; wakes senders that wait.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL, another kind of object or a capacity below 1 is reported, and nothing is done.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/message-ports.c */
RL_EXPORT void RLMessagePortSetCapacity(RLMessagePortRef port, RLIndex capacity);

RL_EXTERN_C_END
#endif
