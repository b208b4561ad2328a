/** @file RLMessagePortRequest.h
 *  Requests: what remote message ports send and local ones answer. See RLMessagePort.h.
 *  Examples: examples/calculator/server.c, examples/calculator/client.c, examples/message-ports.c
 *
 *  Three ways to send
 *  ------------------
 *  - One way: RLMessagePortSendRequest() with a NULL reply mode returns as soon as the request is on its way.
 *  - Waiting for the reply: with a reply mode it runs the calling thread's loop in that mode until the reply arrives.
 *    Sources and timers of the mode are served meanwhile, and may send requests in turn. In
 *    kRLMessagePortPrivateReplyMode nothing else is served, not even a local port or an RLSignal: a request to a port
 *    of the same thread never gets a reply there.
 *  - Asynchronously: RLMessagePortSendRequestAsync() does not wait for the reply. The thread's loop later calls a
 *    callback, in the mode that the request names, with the reply or the reason why there is none. Nothing runs nested.
 *
 *  Two ways to answer
 *  ------------------
 *  - At once: the callback of the local port returns the reply.
 *  - Later: the callback calls RLMessagePortCopyRequest(), and any thread answers with RLMessagePortRequestReply(). If
 *    the last reference to the request is released without an answer, the sender is notified that there will be none.
 *    If the local port is invalidated before, the sender gets kRLMessagePortBecameInvalidError, and an answer has no
 *    effect.
 *  The sender's time limit travels with the request: RLMessagePortGetRemainingTime() returns how much of it is left.
 *  RLMessagePortRequestSetInvalidationCallBack() sets a callback for the case that the sender is gone before the
 *  answer.
 *
 *  Large and many
 *  --------------
 *  Data may have up to 1.5 GiB (0x60000000 bytes). To another process, more than 64 KiB are sent in chunks, as the
 *  other end reads them.
 *  A one-way request that does not fit into the socket waits until the server has read enough for the rest to fit, up
 *  to its time limit; once a part of it was sent, for 50 ms at least. If the limit is reached first, the request counts
 *  as not sent: the server discards what it has received.
 *  While it waits, the sender continues to receive requests for the local ports of its own loop, which calls their
 *  callbacks when it runs: so two processes can send each other large requests at the same time. It receives about
 *  16 MB from each client and 64 MB from all clients together, and at least one request from each. A large request that
 *  wants a reply is sent while the loop runs. If it times out before all of it is sent, the rest is sent nevertheless,
 *  and other requests wait for that.
 *
 *  A reply for which the socket has no room is queued, and sent by the server's loop; until then, no further requests
 *  of that client are handled. There is room for some 200 kB, or for 1 MB if net.core.wmem_max is that large. When the
 *  port is invalidated, or the process ends by exit() or a return from main(), what is left of queued replies is sent
 *  first: for a second at most, and until none of the clients has made room for more within a tenth of a second. At
 *  exit() that happens once for all ports, after the exit handlers that were registered later than the first local
 *  port was created. A server that does not end, but runs its loop no longer, leaves the client waiting for the rest.
 *
 *  A local port has memory for 64 MB of incompletely received requests of each client process, and for one request
 *  more. Further ones wait until others have been received, or their clients are gone; they continue in their order.
 *  All processes of another user share the memory of one process.
 *
 *  A thread that sends many one-way requests of up to 4 KiB to another process sends most of them without a system
 *  call, once the server has received some. Up to 64 of these may then be sent with success to a server that was killed
 *  while it was busy. The success of a one-way request means that it is on its way, not that the server has received
 *  it: what waits in the socket or in shared memory when the server dies is lost. Ask for a reply if you have to know.
 *  All requests of one thread arrive in order. */
#ifndef RUNLOOP_RLMESSAGEPORTREQUEST_H
#define RUNLOOP_RLMESSAGEPORTREQUEST_H
#include <RunLoop/RLMessagePort.h>
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** A received request that will be answered later. */
typedef struct RLMessagePortRequest *RLMessagePortRequestRef;

/** The result of a request: one of CF's six results. */
enum {
    kRLMessagePortSuccess = 0,            /**< It was sent and, if a reply was wanted, the reply arrived. */
    kRLMessagePortSendTimeout = -1,       /**< There was no room for it within the time limit. */
    kRLMessagePortReceiveTimeout = -2,    /**< It was sent, at least in part, and no reply arrived in time. */
    kRLMessagePortIsInvalid = -3,         /**< It was not sent as a whole: the port is invalid, its server is gone. */
    kRLMessagePortTransportError = -4,    /**< Too large, a system failure, or the server will not answer. */
    kRLMessagePortBecameInvalidError = -5 /**< It was sent, at least in part; a port ended before the reply. */
};

/** Returns a text for a result, such as "timed out waiting for a reply", for human readers. It is never NULL; an
 *  unknown number has a text that says so.
 *  @param result  one of the six, or any other number.
 *  Ownership: a constant; do not free it. */
RL_EXPORT const char *RLMessagePortResultGetText(int32_t result);

/** A reply mode in which nothing except replies is served. */
RL_EXPORT const RLRunLoopMode kRLMessagePortPrivateReplyMode;

/** Receives the reply to a request that was sent with RLMessagePortSendRequestAsync(); called once, on the sender's
 *  thread.
 *  @param remote  the port that sent the request; retained by the library during the callback.
 *  @param result  one of the six results: success, or why there is no reply.
 *  @param reply   the reply; NULL if there is none, or if the server replied NULL. Retain it to keep it.
 *  @param info    the info passed with the request. */
typedef void (*RLMessagePortReplyCallBack)(RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info);

/** Sends a request, and waits for the reply if a reply mode is given.
 *  If this thread's loop is stopped while it waits, the stop applies to the outer run, if there is one, once the wait
 *  has ended, with or without a reply. While the thread waits for room, it runs no mode: if only its own loop serves
 *  the port, it waits until the limit.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue; less than 0.001, or negative: does not wait,
 *                      except for large one-way requests (see above); ten days or more, or HUGE_VAL: no limit.
 *  @param rcvTimeout   seconds to wait for the reply, from when the request, or a part of it, was sent; 0 or less:
 *                      checks once; HUGE_VAL: no limit.
 *  @param replyMode    the mode in which this thread's loop runs meanwhile; NULL for no reply. Not the common modes.
 *  @param returnData   receives the reply; may be NULL. NULL is written if the server replied NULL. It is written only
 *                      on success, and not at all without a reply mode.
 *  @return one of the six results.
 *  Ownership: you own the reply in returnData.  Re-entrancy: serves the reply mode. Calls invalidation callbacks if it
 *  finds that the server, or a client from which it receives meanwhile, is gone; these may release the port.
 *  Errors: the result; misuse returns kRLMessagePortTransportError. If the kernel lacks the memory to wake the server,
 *  the connection ends: one-way requests then return kRLMessagePortIsInvalid, although the server may receive them.
 *  Cost: within the process O(1), or a copy of data that can change; between processes two copies and a few system
 *  calls. If the server turns out to be gone, the replies that it has left are received first, for 0.1 s at most. */
RL_EXPORT int32_t RLMessagePortSendRequest(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                           RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                           RLRunLoopMode replyMode, RLDataRef *returnData);

/** Sends a request; a callback receives the reply.
 *  If the request was sent, the callback is called exactly once, by a run of this thread's loop in the given mode,
 *  unless this thread exits before. Until then that mode is not empty.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue, as for RLMessagePortSendRequest(); 0 never
 *                      waits.
 *  @param rcvTimeout   seconds until the callback receives kRLMessagePortReceiveTimeout, from when the request, or a
 *                      part of it, was sent; 0 or less: in the next pass; HUGE_VAL: never.
 *  @param replyMode    the mode in which the callback is called; not NULL, not the common modes.
 *  @param callout      not NULL.
 *  @param info         passed to callout; must be valid until callout is called.
 *  @return kRLMessagePortSuccess if the request was sent; otherwise the callback is not called.
 *  Ownership: the port is retained until the callback has returned; if this thread exits before, until then, and its
 *  invalidation callback may be called then.  Thread: any; the callback is called on the same thread.
 *  Re-entrancy: calls invalidation callbacks as RLMessagePortSendRequest() does; callout only after it has returned.
 *  Errors: the result; misuse returns kRLMessagePortTransportError.
 *  Cost: allocates a source and, with a time limit, a timer, in addition to the cost of a request with a reply. With
 *  returnAfterSourceHandled each reply counts as a source, so a run calls back for one. */
RL_EXPORT int32_t RLMessagePortSendRequestAsync(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                                RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                                RLRunLoopMode replyMode, RLMessagePortReplyCallBack callout,
                                                void *info);

/** Returns the type ID of requests, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLMessagePortRequestGetTypeID(void);

/** Returns the request for which the callback of a local port was called, so that it can be answered later.
 *  What the callback returns is then not the reply; the request is answered by RLMessagePortRequestReply().
 *  While a client in another process has as many unanswered requests as the port's capacity, no more requests are
 *  received from it: the client waits, within its time limits, until one is answered or released. Those whose senders
 *  have timed out count, too: check RLMessagePortRequestGetRemainingTime(). While its process, or all processes of
 *  another user together, have 64 MB of them at the port, all these clients wait until less than 60 MB are left. Data
 *  of more than 16 KiB, and up to 64, takes 65 KiB of memory, and counts as that. Each further loop that serves the
 *  port may have received one more request.
 *  Ownership: Copy rule. Releasing the request without an answer notifies the sender that there is none, but not before
 *  the port's callback has returned: the sender gets kRLMessagePortTransportError.  Thread: that of the callback.
 *  Re-entrancy: only in the port's own callback; elsewhere it is misuse.
 *  Cost: two locks; O(clients) when the 64 MB are reached, and when an answer or a release leaves less than 60 MB. */
RL_EXPORT RLMessagePortRequestRef RLMessagePortCopyRequest(RLMessagePortRef local);

/** Answers a request that was taken over with RLMessagePortCopyRequest().
 *  @param data  the reply, or NULL.
 *  @return 1 if this is the answer to the request, even if the sender no longer waits or never wanted a reply, or if
 *  the data is too large: then the sender gets kRLMessagePortTransportError. A second answer is misuse.
 *  Cost: as a request; never waits: data that the client does not read is kept for it. */
RL_EXPORT RLBoolean RLMessagePortRequestReply(RLMessagePortRequestRef request, RLDataRef data);

/** Returns how many more seconds the sender of a request will wait.
 *  The result is always infinity if the sender wants no reply. Otherwise it is 0 if the sender no longer waits, because
 *  it timed out or is gone or the request was answered, and infinity if it waits without limit. Within the process, it
 *  is too small by the time for which the sender has waited for room.
 *  Cost: reads the clock; a system call if the sender is another process. */
RL_EXPORT RLTimeInterval RLMessagePortRequestGetRemainingTime(RLMessagePortRequestRef request);

/** Called when the sender of a request is gone, so that an answer cannot reach it.
 *  This is the case if the sender's process has ended, or its remote port or the local port was invalidated. A callback
 *  is called at most once each time that it is set. It may release the request, or answer it, which has no effect.
 *  @param request  the request; retained by the library during the callback.
 *  @param info     the info passed with the callback. */
typedef void (*RLMessagePortRequestInvalidationCallBack)(RLMessagePortRequestRef request, void *info);

/** Sets a callback for when the sender of a request is gone, so that work for it can be abandoned.
 *  The callback is called on the thread that notices. For another process this is usually the thread of a loop that
 *  serves the port, in a run of a mode with the port's source; within the process it is the thread that invalidates the
 *  remote port; in both cases it may be the thread that invalidates the local port, or disconnects other users. If the
 *  sender is already gone, the callback is called before this function returns. It is not called when the sender times
 *  out (see RLMessagePortRequestGetRemainingTime()), nor after the request was answered or released for the last time.
 *  A previous callback that is running on another thread is not waited for.
 *  @param callout  replaces the callback that was set before; NULL for none.
 *  @param info     passed to callout; may be NULL. Must be valid until the request is answered or released.
 *  @return 0 after misuse, or if the thread cannot have a loop; else 1.
 *  Ownership: the request is not retained.  Re-entrancy: may call callout.
 *  Cost: a system call if the sender is another process. */
RL_EXPORT RLBoolean RLMessagePortRequestSetInvalidationCallBack(RLMessagePortRequestRef request,
                                                                RLMessagePortRequestInvalidationCallBack callout,
                                                                void *info);

/** Returns how many more seconds the sender of the request in this callback will wait.
 *  This is RLMessagePortRequestGetRemainingTime() without taking the request over.
 *  Thread: that of the callback.  Re-entrancy: only in the port's own callback; elsewhere it is misuse.
 *  Cost: reads the clock; a system call if the sender is another process. */
RL_EXPORT RLTimeInterval RLMessagePortGetRemainingTime(RLMessagePortRef local);

/** Identifies the sender of the request in this callback, as known to the kernel: the process that created the remote
 *  port.
 *  @param pid  NULL, or receives its process ID; 0 if that is not visible in this process's PID namespace.
 *  @param uid  NULL, or receives its user ID.
 *  @param gid  NULL, or receives its group ID.
 *  @return 1 if they were written, else 0.
 *  Thread: that of the callback.  Re-entrancy: only in the port's own callback; elsewhere it is misuse. */
RL_EXPORT RLBoolean RLMessagePortGetPeerCredentials(RLMessagePortRef local, int *pid, unsigned *uid, unsigned *gid);

RL_EXTERN_C_END
#endif
