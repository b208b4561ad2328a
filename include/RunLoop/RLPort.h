/** @file RLPort.h
 *  Ports: where threads of one process send each other messages, and a run loop receives them.
 *
 *  A port is a queue with a callback. Whoever has the port may send to it, from any thread: make an RLPortMessage
 *  (RLPortMessage.h) and send it. The loops that have the port's run loop source hand the messages out, one after the
 *  other, to the port's callback. The port is NSPort (NSMachPort) for C. For other processes, for calls that wait for a
 *  reply, and to be found by name, there are message ports: RLMessagePort.h.
 *
 *      main thread                                     worker thread
 *      port = RLPortCreate(handle, …)                  own = RLPortCreate(handle, …), source, AddSource
 *      RLPortCreateRunLoopSource(port), AddSource      message = RLPortMessageCreate(port, own, NULL)
 *      pthread_create(worker, port)                    RLPortMessageSendBeforeDate(message, …)
 *      RLRunLoopRun()
 *        handle(port, message): RLPortMessageGetSendPort(message) is the worker's own port: send replies there
 *
 *  Ports travel in messages: as the reply port, as above, and among the components.
 *
 *  Order, and how often
 *  --------------------
 *  Messages of one sender arrive in the order in which they were sent, each of them once. A pass of the loop hands out
 *  one message; when nobody could tell the difference (nothing else to do in the mode, no observers of the pass's
 *  begin) several are handed out in one pass. A run that returns after a source returns after one message. A callback
 *  that runs the loop in a mode with the port's source gets the next message in there. If the source is in several
 *  loops, each message goes to the first that takes it.
 *
 *  Costs
 *  -----
 *  Sending copies no data: the receiver gets the same components. It enters the kernel only to wake a loop that sleeps,
 *  or to wait for room. A port is memory only: no descriptor, no kernel object.
 *
 *  Capacity
 *  --------
 *  At most RLPortGetCapacity() messages wait in a port, 1024 unless set. Then senders wait, each until its limit. A
 *  thread that sends to a port that only its own loop serves waits in vain.
 *
 *  The end
 *  -------
 *  RLPortInvalidate() ends a port for good. Messages that were not handed out are dropped, senders get false with errno
 *  EPIPE, the source is invalidated, the invalidation callback is called, and info is released when no callback runs
 *  any more. The last RLRelease() of a valid port does the same. The source retains the port, so a port whose source is
 *  in a loop lives until it is invalidated, or the source is removed and released. A message that waits in a port
 *  retains its reply port and components: invalidate ports that are no longer served. */
#ifndef RUNLOOP_RLPORT_H
#define RUNLOOP_RLPORT_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A port. */
typedef struct RLPort *RLPortRef;
/** A message: see RLPortMessage.h. */
typedef struct RLPortMessage *RLPortMessageRef;

/** What a port carries. Every pointer may be NULL. */
typedef struct RLPortContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Handed to the callbacks. */
    /** Called once, in Create; what it returns is the port's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once: after invalidation, when the last callback has returned. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLPortContext;

/** Receives a message, on the thread of the loop that took it. May send, run the loop, and invalidate the port.
 *  @param port     the port the message arrived at; held by the library during the call.
 *  @param message  the message, with its ports as the receiver sees them; retain it to keep it.
 *  @param info     that of the context. */
typedef void (*RLPortCallBack)(RLPortRef port, RLPortMessageRef message, void *info);

/** Hears that a port was invalidated, once, on the thread that did it.
 *  @param port  the port; already invalid.
 *  @param info  that of the context; NULL if it has been released already. */
typedef void (*RLPortInvalidationCallBack)(RLPortRef port, void *info);

/** Tells the kind of ports, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLTypeID RLPortGetTypeID(void);

/** Creates a port. It receives once its run loop source is in a mode that runs; what is sent before waits.
 *  @param allocator       NULL.
 *  @param callout         called for each message; not NULL.
 *  @param context         may be NULL; copied.
 *  @param shouldFreeInfo  NULL, or where 0 is written: a new port always takes its info. (CF's message ports may not.)
 *  @return the port, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the port is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a NULL callout or a version other than 0 is reported and gives NULL.
 *  Cost: one allocation, no system call.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLPortRef RLPortCreate(RLAllocatorRef allocator, RLPortCallBack callout, RLPortContext *context,
                                 RLBoolean *shouldFreeInfo);

/** Gives the run loop source by which loops receive for this port: the same one each time, while it is valid.
 *  Add it to the modes and loops that are to receive. Invalidating the source alone leaves the port valid: messages
 *  wait, and a new source can be made.
 *  @param allocator  NULL.
 *  @param port       not NULL.
 *  @param order      of the source, if this call makes it: see RLRunLoopSourceCreate().
 *  @return the source, or NULL.
 *  Ownership: Create rule; the source retains the port.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL if the port is invalid, or with errno ENOMEM; NULL or another kind of object is reported and gives
 *  NULL.
 *  Cost: O(1); two allocations the first time; no system call.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLRunLoopSourceRef RLPortCreateRunLoopSource(RLAllocatorRef allocator, RLPortRef port, RLIndex order);

/** Copies the context of a port.
 *  @param port     not NULL.
 *  @param context  not NULL; its version must be 0. Info and functions are NULL once the port has released its info.
 *  Ownership: info is not retained for you.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object or another version is reported, and nothing is written.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT void RLPortGetContext(RLPortRef port, RLPortContext *context);

/** Ends a port for good: see "The end" above. A callback that runs on another thread is not waited for; none begins
 *  afterwards. A second call has no effect.
 *  @param port  not NULL.
 *  Ownership: the port's source and waiting messages are released; your reference is untouched.  Thread: any;
 *  ends another thread's run whose mode is empty now.
 *  Re-entrancy: allowed in callbacks, also its own; calls the invalidation callback and context.release.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(waiting messages + modes of the source); a system call if senders wait.  Since: 0.1.
 *  Example: examples/ports.c */
RL_EXPORT void RLPortInvalidate(RLPortRef port);

/** Tells whether a port was not invalidated.
 *  @param port  not NULL.
 *  @return 1 if it is valid, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLBoolean RLPortIsValid(RLPortRef port);

/** Tells who hears of the port's invalidation.
 *  @param port  not NULL.
 *  @return the callback, or NULL.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLPortInvalidationCallBack RLPortGetInvalidationCallBack(RLPortRef port);

/** Says who is to hear of the port's invalidation. If the port is invalid already, the callback is called at once, in
 *  this call.
 *  @param port     not NULL.
 *  @param callout  the callback, or NULL for nobody.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; may call callout.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT void RLPortSetInvalidationCallBack(RLPortRef port, RLPortInvalidationCallBack callout);

/** Tells how many messages may wait in a port before senders have to.
 *  @param port  not NULL.
 *  @return the capacity, 1024 unless it was set; 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLIndex RLPortGetCapacity(RLPortRef port);

/** Sets how many messages may wait in a port before senders have to. Messages that wait already stay.
 *  @param port      not NULL.
 *  @param capacity  1 or more; what is beyond 2147483647 counts as that. Memory is used as messages come, about 8 bytes
 *                   each besides the message.
 *  Ownership: none changes.  Thread: any; wakes senders that wait.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL, another kind of object or a capacity below 1 is reported, and nothing is done.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT void RLPortSetCapacity(RLPortRef port, RLIndex capacity);

RL_EXTERN_C_END
#endif
