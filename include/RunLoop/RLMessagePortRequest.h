/** @file RLMessagePortRequest.h
 *  Requests: what remote message ports send and local ones answer. See RLMessagePort.h.
 *
 *  Three ways to ask
 *  -----------------
 *  - Without a reply: RLMessagePortSendRequest() with a NULL reply mode returns as soon as the request is on its way.
 *  - And wait: with a reply mode it runs the calling thread's loop in that mode until the reply is there. Sources and
 *    timers of the mode are served meanwhile, and may ask in turn. In kRLMessagePortPrivateReplyMode nothing else is
 *    served, no local port either: who asks a port of the same thread waits in vain there.
 *  - And go on: RLMessagePortSendRequestAsync() returns at once, and a callback gets the reply, or hears that there
 *    is none, from the thread's loop in the mode that it names. Nothing is run again inside something else.
 *
 *  Two ways to answer
 *  ------------------
 *  - At once: the callback of the local port returns the reply.
 *  - Later: it calls RLMessagePortCopyRequest(), and whoever has the request answers it with
 *    RLMessagePortRequestReply(), from any thread. If the last reference goes without an answer, the sender is told
 *    that there will be none.
 *  The sender's time limit travels with the request: RLMessagePortGetRemainingTime() tells how long it will still wait.
 *  RLMessagePortRequestSetInvalidationCallBack() calls back if it is gone before the answer.
 *
 *  Large data
 *  ----------
 *  Data of more than 32 KB goes to another process in a file in memory, up to 1.5 GB. From the second time on a
 *  connection keeps a file for the next, up to 8 MB, until there have been 64 replies, or requests that want none,
 *  without large data; a reply that fits goes back in the file of its request. Who sends large data and wants no reply
 *  uses the file again as soon as the server has copied the data: it waits for that, no longer than its time limit and
 *  2 ms, and when that is in vain the next ones get files of their own, which take several times as long, until the
 *  server has come so far. While it waits it takes what the server sends, as a thread does that waits for a reply.
 *  If there can be no file, at either end, since no descriptors are left or the process may not write so much
 *  (RLIMIT_FSIZE), who asked gets kRLMessagePortTransportError, as for data that is too large, a reply too.
 *
 *  Many small ones, one way
 *  ------------------------
 *  Who sends 16 requests of up to 4 KB to another process, wants no reply to any of them, and asks for none in
 *  between, gets 132 KB of memory that it shares with the server as long as the connection lasts. Such requests go
 *  through that, and there is a system call only if the server sleeps, and one in 32 to see that it is alive: so up to
 *  31 may still be sent with success to a server that has just been killed. Each is there for the server when the call
 *  returns, and the order of all requests of a thread stays what it is. */
#ifndef RUNLOOP_RLMESSAGEPORTREQUEST_H
#define RUNLOOP_RLMESSAGEPORTREQUEST_H
#include <RunLoop/RLMessagePort.h>
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** A request that was received and is to be answered later. */
typedef struct RLMessagePortRequest *RLMessagePortRequestRef;

/** How a request ended: CF's six results. */
enum {
    kRLMessagePortSuccess = 0,            /**< It was sent, and if a reply was wanted, it came. */
    kRLMessagePortSendTimeout = -1,       /**< There was no room for it in time. */
    kRLMessagePortReceiveTimeout = -2,    /**< It was sent, and no reply came in time. */
    kRLMessagePortIsInvalid = -3,         /**< It was not sent: the remote port is invalid, its server is gone. */
    kRLMessagePortTransportError = -4,    /**< It is too large, the system failed, or the server will not answer. */
    kRLMessagePortBecameInvalidError = -5 /**< It was sent, and the server went before the reply came. */
};

/** Returns a text for a result, for people: "no reply in time".
 *  @param result  one of the six, or any other number.
 *  @return the text, in English; for an unknown number one that says so, never NULL.
 *  Ownership: Get rule; a constant.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/calculator/client.c */
RL_EXPORT const char *RLMessagePortResultGetText(int32_t result);

/** A reply mode in which nothing but replies is served. */
RL_EXPORT const RLRunLoopMode kRLMessagePortPrivateReplyMode;

/** Receives the reply to a request that was sent with RLMessagePortSendRequestAsync(), once, on the sender's thread.
 *  @param remote  the port that asked; held by the library during the call.
 *  @param result  one of the six; success, or why there is no reply.
 *  @param reply   the reply; NULL if there is none, or if the server gave NULL. Retain it to keep it.
 *  @param info    what was given with the request. */
typedef void (*RLMessagePortReplyCallBack)(RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info);

/** Sends a request, and waits for the reply if a mode is given.
 *  @param remote       a remote port.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue; less than 0.001, also below 0, is not at all,
 *                      ten days or more, also HUGE_VAL, is without limit.
 *  @param rcvTimeout   seconds to wait for the reply; 0 or less looks once, HUGE_VAL is without limit.
 *  @param replyMode    the mode in which this thread's loop runs meanwhile; NULL for no reply. Not the common modes.
 *  @param returnData   where the reply goes, if there is one to go; may be NULL. NULL is written if the server gave
 *                      NULL. Only written on success, and not at all without a reply mode.
 *  @return one of the six results.
 *  Ownership: you own what is in returnData; data is retained as long as it is needed.  Thread: any.
 *  Re-entrancy: allowed in callbacks; serves the reply mode. A stop of this thread's loop that comes while it waits is
 *  passed on to the run outside, when the reply is there.
 *  Errors: the result says it; NULL, a local port, another kind of object, NaN, or the common modes are reported and
 *  give kRLMessagePortTransportError. Where the kernel lacks the memory to wake the server, the connection ends: what
 *  was sent one way then gives kRLMessagePortIsInvalid, though the server may find it.
 *  Cost: within the process no data is copied, unless it can change; else two copies, and five system calls in all for
 *  a request and its reply; of small requests one way, one in 32 at each end.  Since: 0.1.
 *  Example: examples/message-ports.c */
RL_EXPORT int32_t RLMessagePortSendRequest(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                           RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                           RLRunLoopMode replyMode, RLDataRef *returnData);

/** Sends a request; a callback gets the reply. It is called exactly once if the request was sent, unless this thread
 *  ends before, and it is called by a run of this thread's loop in the given mode. That mode is not empty until then.
 *  @param remote       a remote port.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue, as above; 0 never waits.
 *  @param rcvTimeout   seconds until the callback hears kRLMessagePortReceiveTimeout; 0 or less: in the next pass;
 *                      HUGE_VAL: never.
 *  @param replyMode    the mode in which the callback is called; not NULL, not the common modes.
 *  @param callout      not NULL.
 *  @param info         handed to callout; must be valid until then.
 *  @return kRLMessagePortSuccess if it was sent; else the callback is not called.
 *  Ownership: the port is held until the callback has returned.  Thread: any; the callback comes on the same one.
 *  Re-entrancy: allowed in callbacks; runs no loop.
 *  Errors: the result says it; mistakes are reported and give kRLMessagePortTransportError.
 *  Cost: allocates; a timer besides the costs of a request that is waited for.  Since: 0.1.
 *  Example: examples/calculator/client.c */
RL_EXPORT int32_t RLMessagePortSendRequestAsync(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                                RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                                RLRunLoopMode replyMode, RLMessagePortReplyCallBack callout,
                                                void *info);

/** Tells the kind of requests, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/calculator/server.c */
RL_EXPORT RLTypeID RLMessagePortRequestGetTypeID(void);

/** Takes the request over that a callback of a local port has been called for: what the callback returns is not the
 *  answer any more, RLMessagePortRequestReply() is.
 *  @param local  the port whose callback this is.
 *  @return the request, or NULL.
 *  Ownership: Create rule. Without an answer the last release tells the sender that there is none: it gets
 *  kRLMessagePortTransportError.  Thread: that of the callback.  Re-entrancy: only in the port's own callback.
 *  Errors: a call from elsewhere is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/calculator/server.c */
RL_EXPORT RLMessagePortRequestRef RLMessagePortCopyRequest(RLMessagePortRef local);

/** Answers a request that was taken over.
 *  @param request  the request.
 *  @param data     the reply, or NULL.
 *  @return 1 if this was the answer; 0 if it had been answered already. Whether the sender still waits is not told.
 *  Ownership: none changes; data is retained as long as it is needed.  Thread: any.
 *  Re-entrancy: allowed in callbacks.  Errors: a second answer, NULL or another kind of object is reported and gives 0.
 *  Cost: as a request; never waits: what a client does not read is kept for it.  Since: 0.1.
 *  Example: examples/calculator/server.c */
RL_EXPORT RLBoolean RLMessagePortRequestReply(RLMessagePortRequestRef request, RLDataRef data);

/** Returns how long the sender of a request will still wait.
 *  @param request  the request.
 *  @return seconds; 0 if it does not wait any more: its time is over, it is gone, or the request was answered. Infinity
 *          if it waits without limit or wants no reply.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: reads the clock; a system call if the sender is another process.  Since: 0.1.
 *  Example: examples/calculator/server.c */
RL_EXPORT RLTimeInterval RLMessagePortRequestGetRemainingTime(RLMessagePortRequestRef request);

/** Hears that the sender of a request is gone: its process has ended, or its remote port was invalidated. Called at
 *  most once. It may answer the request, to no effect, and release it.
 *  @param request  the request; retained by the library during the call.
 *  @param info     what was given with the callback. */
typedef void (*RLMessagePortRequestInvalidationCallBack)(RLMessagePortRequestRef request, void *info);

/** Sets who hears that the sender of a request is gone, so that work for it can be given up.
 *  The callback is called on the thread that notices: for another process that is the thread of a loop that serves the
 *  port, in a run of a mode with the port's source; within the process it is the thread that invalidates the remote
 *  port, or the local one. If the sender is gone already, it is called before this returns. It is not called when the
 *  sender's time is over (see RLMessagePortRequestGetRemainingTime()), and not after the request was answered or
 *  released for the last time. A call that runs on another thread is not waited for.
 *  @param request  a request that was taken over.
 *  @param callout  replaces the one that was set before; NULL for none.
 *  @param info     handed to callout; may be NULL. Must be valid until the request is answered or released.
 *  @return 1 if it is set, or was called; else 0.
 *  Ownership: none changes; the request is not retained.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 with errno ENOMEM; NULL or another kind of object is reported and gives 0.
 *  Cost: a small allocation.  Since: 0.1.  Example: examples/calculator/server.c */
RL_EXPORT RLBoolean RLMessagePortRequestSetInvalidationCallBack(RLMessagePortRequestRef request,
                                                                RLMessagePortRequestInvalidationCallBack callout,
                                                                void *info);

/** The same for the request that a callback has been called for.
 *  @param local  the port whose callback this is.
 *  @return seconds, as above.
 *  Ownership: none changes.  Thread: that of the callback.  Re-entrancy: only in the port's own callback.
 *  Errors: a call from elsewhere is reported and gives 0.
 *  Cost: as above.  Since: 0.1.  Example: examples/calculator/server.c */
RL_EXPORT RLTimeInterval RLMessagePortGetRemainingTime(RLMessagePortRef local);

/** Tells who has sent the request that a callback has been called for, as the kernel knows it: the process that made
 *  the remote port.
 *  @param local  the port whose callback this is.
 *  @param pid    NULL, or where its process id goes.
 *  @param uid    NULL, or where its user goes.
 *  @param gid    NULL, or where its group goes.
 *  @return 1 if they were written, else 0.
 *  Ownership: none.  Thread: that of the callback.  Re-entrancy: only in the port's own callback.
 *  Errors: a call from elsewhere is reported and gives 0.
 *  Cost: O(1); no system call if the sender is another process.  Since: 0.1.  Example: examples/calculator/server.c */
RL_EXPORT RLBoolean RLMessagePortGetPeerCredentials(RLMessagePortRef local, int *pid, unsigned *uid, unsigned *gid);

RL_EXTERN_C_END
#endif
