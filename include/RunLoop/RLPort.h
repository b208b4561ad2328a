/** @file RLPort.h
 *  Ports: the threads of one process send each other messages, which run loops receive.
 *  Example: examples/ports.c
 *
 *  A port is a queue with a callback. Any thread may send to it: create an RLPortMessage (RLPortMessage.h) and send it.
 *  The loops that have the port's run loop source deliver the messages, each loop one after the other, to the port's
 *  callback. A port is NSPort (NSMachPort) for C. For other processes, for calls that wait for a reply, and for ports
 *  that are found by name, there are message ports: RLMessagePort.h.
 *
 *      main thread                                     worker thread
 *      port = RLPortCreate(NULL, handle, …)            own = RLPortCreate(NULL, handle, …), source, AddSource
 *      RLPortCreateRunLoopSource(NULL, port, 0)        message = RLPortMessageCreate(NULL, port, own, NULL)
 *      RLRunLoopAddSource(…), pthread_create(…)        RLPortMessageSendBeforeDate(message, …)
 *      RLRunLoopRun()
 *        handle(port, message): RLPortMessageGetSendPort(message) is the worker's own port: send replies there
 *
 *  Ports can be sent in messages: as the reply port, as above, and among the components.
 *
 *  Order, and how often
 *  --------------------
 *  The messages of one sender arrive in the order in which they were sent, each of them once. A pass of the loop
 *  delivers one message, or several if the program cannot tell the difference. A run that returns after a source
 *  returns after one message. A callback that runs the loop in a mode with the port's source receives the next message
 *  in that run. If the source is in several loops, each message goes to the loop that takes it first.
 *
 *  Costs
 *  -----
 *  Sending copies no data: the receiver gets the same components. It enters the kernel only to wake a sleeping loop, or
 *  to wait for room. A port is only memory: no descriptor, no kernel object.
 *
 *  Capacity
 *  --------
 *  At most RLPortGetCapacity() messages wait in a port, 1024 unless set. When it is full, senders wait, each until its
 *  time limit. A thread that waits to send to a port that only its own loop serves blocks that loop until the limit.
 *
 *  The end
 *  -------
 *  RLPortInvalidate() ends a port permanently. Undelivered messages are dropped, senders fail with errno EPIPE, the
 *  source is invalidated, the invalidation callback is called, and info is released as soon as no callback is running.
 *  The last RLRelease() of a valid port does the same. The source retains the port, so a port whose source is in a loop
 *  lives until it is invalidated, or the source is removed and released. A message that waits in a port retains its
 *  reply port and components: invalidate ports that are no longer served. */
#ifndef RUNLOOP_RLPORT_H
#define RUNLOOP_RLPORT_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A port. */
typedef struct RLPort *RLPortRef;
/** A message: see RLPortMessage.h. */
typedef struct RLPortMessage *RLPortMessageRef;

/** The info of a port and the functions that manage it. Every pointer may be NULL. */
typedef struct RLPortContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callbacks. */
    /** Called once, in Create; what it returns is the port's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once: after invalidation, when the last callback has returned. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLPortContext;

/** Receives a message, on the thread of the loop that took it. It may send messages, run the loop, and invalidate the
 *  port.
 *  @param port     the port at which the message arrived; retained by the library during the callback.
 *  @param message  the message, with its ports as the receiver sees them; retain it to keep it.
 *  @param info     the port's info. */
typedef void (*RLPortCallBack)(RLPortRef port, RLPortMessageRef message, void *info);

/** Called when a port was invalidated, on the thread that invalidated it. If a port is invalid already, the function
 *  that sets the callback calls it.
 *  @param port  the port; already invalid.
 *  @param info  the port's info; NULL if it has been released already. */
typedef void (*RLPortInvalidationCallBack)(RLPortRef port, void *info);

/** Returns the type ID of ports, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLPortGetTypeID(void);

/** Creates a port. It receives messages once its run loop source is in a mode that runs; messages sent before that
 *  wait.
 *  @param callout         called for each message; not NULL.
 *  @param context         may be NULL; copied.
 *  @param shouldFreeInfo  NULL, or receives 0 if the port has taken info, 1 if no port was created.
 *  @return the port, or NULL.
 *  Ownership: info is retained through context.retain until the port is invalid.  Re-entrancy: calls context.retain. */
RL_EXPORT RLPortRef RLPortCreate(RLAllocatorRef allocator, RLPortCallBack callout, RLPortContext *context,
                                 RLBoolean *shouldFreeInfo);

/** Returns the run loop source through which loops receive a port's messages; NULL if the port is invalid.
 *  Each call returns the same source as long as that is valid. Add it to the modes and loops that are to receive.
 *  Invalidating the source alone leaves the port valid: messages wait, and a new source can be created.
 *  @param order  the order of the source, if this call creates it: see RLRunLoopSourceCreate().
 *  Ownership: Create rule; the source retains the port. */
RL_EXPORT RLRunLoopSourceRef RLPortCreateRunLoopSource(RLAllocatorRef allocator, RLPortRef port, RLIndex order);

/** Copies the context of a port.
 *  @param context  its version must be 0. Info and functions are NULL once the port has released its info.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLPortGetContext(RLPortRef port, RLPortContext *context);

/** Invalidates a port, permanently: see "The end" above.
 *  A callback that is running on another thread is not waited for; none begins afterwards. If this empties the mode of
 *  a run on another thread, that run ends. A second call has no effect.
 *  Ownership: the port's source and waiting messages are released; your reference is not.
 *  Re-entrancy: calls the invalidation callback and context.release.
 *  Cost: O(waiting messages + modes of the source); a system call if senders wait. */
RL_EXPORT void RLPortInvalidate(RLPortRef port);

/** Returns whether a port is valid. */
RL_EXPORT RLBoolean RLPortIsValid(RLPortRef port);

/** Returns the port's invalidation callback, or NULL. */
RL_EXPORT RLPortInvalidationCallBack RLPortGetInvalidationCallBack(RLPortRef port);

/** Sets the port's invalidation callback. If the port is already invalid, the callback is called during this call.
 *  @param callout  the callback, or NULL for none.
 *  Re-entrancy: may call callout. */
RL_EXPORT void RLPortSetInvalidationCallBack(RLPortRef port, RLPortInvalidationCallBack callout);

/** Returns how many messages may wait in a port: 1024 unless set. */
RL_EXPORT RLIndex RLPortGetCapacity(RLPortRef port);

/** Sets how many messages may wait in a port before senders have to wait. Messages that are already waiting are kept.
 *  @param capacity  1 or more; more than 2147483647 is taken as that. Memory is used only for messages that wait.
 *  Thread: any; wakes waiting senders.  Cost: a system call. */
RL_EXPORT void RLPortSetCapacity(RLPortRef port, RLIndex capacity);

RL_EXTERN_C_END
#endif
