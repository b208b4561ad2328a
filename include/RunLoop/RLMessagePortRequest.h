/** @file RLMessagePortRequest.h
 *  Requests: what remote message ports send and local ones answer. See RLMessagePort.h.
 *  Examples: examples/calculator/server.c, examples/calculator/client.c, examples/message-ports.c
 *
 *  Three ways to send
 *  ------------------
 *  - One way: RLMessagePortSendRequest() with a NULL reply mode returns as soon as the request is on its way.
 *  - And wait: with a reply mode it runs the calling thread's loop in that mode until the reply arrives. Sources and
 *    timers of the mode are served meanwhile, and may send requests in turn. In kRLMessagePortPrivateReplyMode nothing
 *    else is served, not even a local port: a request to a port of the same thread never gets a reply there.
 *  - And go on: RLMessagePortSendRequestAsync() returns at once, and a callback receives the reply, or why there is
 *    none, from the thread's loop in the mode that it names. Nothing runs nested.
 *
 *  Two ways to answer
 *  ------------------
 *  - At once: the callback of the local port returns the reply.
 *  - Later: it calls RLMessagePortCopyRequest(), and any thread answers with RLMessagePortRequestReply(). If the last
 *    reference is released without an answer, the sender is told that there will be none. If the local port is
 *    invalidated before, the sender gets kRLMessagePortBecameInvalidError, and an answer has no effect.
 *  The sender's time limit travels with the request: RLMessagePortGetRemainingTime() returns what is left of it.
 *  RLMessagePortRequestSetInvalidationCallBack() calls back if the sender is gone before the answer.
 *
 *  Large and many
 *  --------------
 *  Data may have up to 1.5 GB. To another process more than 32 KiB go in pieces, as the other end reads them. A sender
 *  of a large one-way request waits until the server has read most of it, no longer than its time limit (at least 50
 *  ms); what was not sent by then was not sent at all. While it waits it goes on receiving, at least 16 MB from each
 *  client, for the local ports of its own loop, which calls their callbacks when it runs: so two processes can send
 *  each other large requests at the same time. A large request that wants a reply is sent while the loop runs; if it
 *  times out before all of it is sent, the rest is sent nevertheless, and other requests wait for that. Replies are
 *  sent by the server's loop; no further requests of a client that does not read them are handled. The servers of a
 *  process have memory for 256 MB of requests that have not come completely, and for one request more; of that, one
 *  client process may take a quarter of what is free. What does not fit waits. A request that takes more than that and
 *  stands still for 2 s, while others wait, is dropped: the sender gets kRLMessagePortTransportError, or, one way, its
 *  port becomes invalid. If it stands still because no loop serves the port, it is dropped only if the 256 MB have no
 *  room for it. A thread that sends many small one-way requests to another process sends most of them without a system
 *  call, once the server has received some. The last few of these may then be sent with success to a server that has
 *  just been killed. Otherwise each is there for the server when the call returns, and all requests of a thread arrive
 *  in order. */
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
    kRLMessagePortReceiveTimeout = -2,    /**< It was sent, or a part of it, and no reply came in time. */
    kRLMessagePortIsInvalid = -3,         /**< It was not sent: the remote port is invalid, its server is gone. */
    kRLMessagePortTransportError = -4,    /**< Too large, a failure of the system, or the server will not answer. */
    kRLMessagePortBecameInvalidError = -5 /**< It was sent, or a part, and the server went before the reply came. */
};

/** Returns a text for a result, for people: "no reply in time". For an unknown number it says so; never NULL.
 *  @param result  one of the six, or any other number.
 *  Ownership: a constant. */
RL_EXPORT const char *RLMessagePortResultGetText(int32_t result);

/** A reply mode in which nothing but replies is served. */
RL_EXPORT const RLRunLoopMode kRLMessagePortPrivateReplyMode;

/** Receives the reply to a request that was sent with RLMessagePortSendRequestAsync(), once, on the sender's thread.
 *  @param remote  the port that sent it; retained by the library during the call.
 *  @param result  one of the six; success, or why there is no reply.
 *  @param reply   the reply; NULL if there is none, or if the server replied NULL. Retain it to keep it.
 *  @param info    what was passed with the request. */
typedef void (*RLMessagePortReplyCallBack)(RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info);

/** Sends a request, and waits for the reply if a mode is given.
 *  Stopping this thread's loop while it waits stops the outer run, once the reply has arrived.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue; less than 0.001, or negative: does not wait; ten
 *                      days or more, or HUGE_VAL: no limit.
 *  @param rcvTimeout   seconds to wait for the reply; 0 or less: looks once; HUGE_VAL: no limit.
 *  @param replyMode    the mode in which this thread's loop runs meanwhile; NULL for no reply. Not the common modes.
 *  @param returnData   where the reply goes; may be NULL. NULL is written if the server replied NULL. Only written on
 *                      success, and not at all without a reply mode.
 *  @return one of the six results.
 *  Ownership: you own what is in returnData.  Re-entrancy: serves the reply mode. Calls invalidation callbacks if it
 *  finds that the server, or a client that it receives from meanwhile, is gone; these may release the port.
 *  Errors: the result; misuse returns kRLMessagePortTransportError. Where the kernel lacks the memory to wake the
 *  server, the connection ends: one-way requests then return kRLMessagePortIsInvalid, though the server may receive
 *  them.
 *  Cost: within the process O(1), or a copy of data that can change; between processes two copies and a few system
 *  calls. */
RL_EXPORT int32_t RLMessagePortSendRequest(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                           RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                           RLRunLoopMode replyMode, RLDataRef *returnData);

/** Sends a request; a callback receives the reply.
 *  The callback is called exactly once if the request was sent, unless this thread ends before, by a run of this
 *  thread's loop in the given mode. That mode is not empty until then.
 *  @param msgid        a number for the server.
 *  @param data         the data, or NULL, which arrives as data of length 0.
 *  @param sendTimeout  seconds to wait for room in the server's queue, as for RLMessagePortSendRequest(); 0 never
 *                      waits.
 *  @param rcvTimeout   seconds until the callback receives kRLMessagePortReceiveTimeout; 0 or less: in the next pass;
 *                      HUGE_VAL: never.
 *  @param replyMode    the mode in which the callback is called; not NULL, not the common modes.
 *  @param callout      not NULL.
 *  @param info         passed to callout; must be valid until then.
 *  @return kRLMessagePortSuccess if it was sent; else the callback is not called.
 *  Ownership: the port is retained until the callback has returned.  Thread: any; the callback comes on the same one.
 *  Re-entrancy: calls invalidation callbacks as RLMessagePortSendRequest() does; callout only after it has returned.
 *  Errors: the result; misuse returns kRLMessagePortTransportError.
 *  Cost: allocates; a timer besides the costs of a request with a reply. */
RL_EXPORT int32_t RLMessagePortSendRequestAsync(RLMessagePortRef remote, int32_t msgid, RLDataRef data,
                                                RLTimeInterval sendTimeout, RLTimeInterval rcvTimeout,
                                                RLRunLoopMode replyMode, RLMessagePortReplyCallBack callout,
                                                void *info);

/** Returns the kind of requests, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLMessagePortRequestGetTypeID(void);

/** Returns the request for which a callback of a local port was called, to be answered later.
 *  What the callback returns is no longer the answer; RLMessagePortRequestReply() is.
 *  While a client in another process has as many unanswered requests as the port's capacity, or 64 MB of them, no
 *  further one is received from it: it waits, within its time limits, until one is answered or released. Each further
 *  loop that serves the port may have received one more.
 *  Ownership: Copy rule. Releasing it without an answer tells the sender that there is none: it gets
 *  kRLMessagePortTransportError.  Thread: that of the callback.
 *  Re-entrancy: only in the port's own callback; elsewhere it is misuse. */
RL_EXPORT RLMessagePortRequestRef RLMessagePortCopyRequest(RLMessagePortRef local);

/** Answers a request that was taken over.
 *  @param data  the reply, or NULL.
 *  @return 1 if this was the answer, whether the sender still waits, or ever wanted one, or not. A second answer is
 *  misuse.
 *  Cost: as a request; never waits: what a client does not read is kept for it. */
RL_EXPORT RLBoolean RLMessagePortRequestReply(RLMessagePortRequestRef request, RLDataRef data);

/** Returns how many seconds the sender of a request will still wait.
 *  0 if it no longer waits: it has timed out or is gone, or the request was answered. Infinity if it waits without
 *  limit, and always if it wants no reply.
 *  Cost: reads the clock; a system call if the sender is another process. */
RL_EXPORT RLTimeInterval RLMessagePortRequestGetRemainingTime(RLMessagePortRequestRef request);

/** Called when the sender of a request is gone, and an answer cannot reach it.
 *  Its process has ended, its remote port was invalidated, or the local port was. Called at most once each time that it
 *  is set. It may release the request, or answer it, which has no effect.
 *  @param request  the request; retained by the library during the call.
 *  @param info     what was passed with the callback. */
typedef void (*RLMessagePortRequestInvalidationCallBack)(RLMessagePortRequestRef request, void *info);

/** Sets a callback for when the sender of a request is gone, so that work for it can be abandoned.
 *  It is called on the thread that notices. For another process that is, as a rule, the thread of a loop that serves
 *  the port, in a run of a mode with the port's source; within the process it is the thread that invalidates the remote
 *  port; in both cases the thread that invalidates the local port, or disconnects other users. If the sender is gone
 *  already, it is called before this returns. It is not called when the sender times out (see
 *  RLMessagePortRequestGetRemainingTime()), and not after the request was answered or released for the last time. This
 *  does not wait for a call that is running on another thread.
 *  @param callout  replaces the one that was set before; NULL for none.
 *  @param info     passed to callout; may be NULL. Must be valid until the request is answered or released.
 *  @return 0 after misuse, or if the thread cannot have a loop; else 1.
 *  Ownership: the request is not retained.  Re-entrancy: may call callout.
 *  Cost: a system call if the sender is another process. */
RL_EXPORT RLBoolean RLMessagePortRequestSetInvalidationCallBack(RLMessagePortRequestRef request,
                                                                RLMessagePortRequestInvalidationCallBack callout,
                                                                void *info);

/** Returns how many seconds the sender of the request in this callback will still wait.
 *  As RLMessagePortRequestGetRemainingTime(), without taking the request over.
 *  Thread: that of the callback.  Re-entrancy: only in the port's own callback; elsewhere it is misuse.
 *  Cost: reads the clock; a system call if the sender is another process. */
RL_EXPORT RLTimeInterval RLMessagePortGetRemainingTime(RLMessagePortRef local);

/** Identifies the sender of the request in this callback, as the kernel knows it: the process that created the remote
 *  port.
 *  @param pid  NULL, or where its process id goes.
 *  @param uid  NULL, or where its user goes.
 *  @param gid  NULL, or where its group goes.
 *  @return 1 if they were written, else 0.
 *  Thread: that of the callback.  Re-entrancy: only in the port's own callback; elsewhere it is misuse.
 *  Cost: some system calls if the sender is in this process. */
RL_EXPORT RLBoolean RLMessagePortGetPeerCredentials(RLMessagePortRef local, int *pid, unsigned *uid, unsigned *gid);

RL_EXTERN_C_END
#endif
