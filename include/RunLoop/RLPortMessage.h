/** @file RLPortMessage.h
 *  Messages: what is sent from port to port inside a process (NSPortMessage for C). See RLPort.h.
 *
 *  A message has a number (its message id, yours to choose), a port it goes to, perhaps a port for replies, and
 *  components: data and other ports. Nothing of that is copied, only an array that can change: the receiver gets the
 *  same objects. So leave data that can change as it is once it was sent, and lent bytes until nobody has them.
 *
 *  Which port is which
 *  -------------------
 *  As in NSPortMessage, the names are those of the side that looks:
 *
 *      a message that I made:      send port = where it goes;               receive port = where replies reach me
 *      a message that I received:  send port = where replies go (or NULL);  receive port = the port it arrived at
 *
 *  The receiver's message is another object than the sender's. So the sender may send its message again, or release it
 *  at once; one message must not be changed by one thread while another uses it. */
#ifndef RUNLOOP_RLPORTMESSAGE_H
#define RUNLOOP_RLPORTMESSAGE_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLPort.h>
RL_EXTERN_C_BEGIN

/** Tells the kind of messages, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLTypeID RLPortMessageGetTypeID(void);

/** Creates a message to be sent. Its message id is 0.
 *  @param allocator    NULL.
 *  @param sendPort     where it is to go; not NULL.
 *  @param receivePort  where replies are to go, or NULL.
 *  @param components   an array of RLData and RLPort, or NULL.
 *  @return the message, or NULL.
 *  Ownership: Create rule; the message retains the ports and the array.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a NULL sendPort, another kind of object, or a component that is neither data nor
 *  port is reported and gives NULL.
 *  Cost: O(components); no system call; an allocation only now and then.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLPortMessageRef RLPortMessageCreate(RLAllocatorRef allocator, RLPortRef sendPort, RLPortRef receivePort,
                                               RLArrayRef components);

/** Tells the number of a message.
 *  @param message  not NULL.
 *  @return what the sender set; 0 if it did not, or on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT uint32_t RLPortMessageGetMessageID(RLPortMessageRef message);

/** Sets the number of a message. What was sent before is not changed.
 *  @param message    not NULL.
 *  @param messageID  any number; what it means is between sender and receiver.
 *  Ownership: none changes.  Thread: any, one at a time.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT void RLPortMessageSetMessageID(RLPortMessageRef message, uint32_t messageID);

/** Tells where a message goes, or, of a received one, where replies to it go.
 *  @param message  not NULL.
 *  @return the port; NULL if the sender of a received message wants no reply, or on a mistake.
 *  Ownership: Get rule; retain it to keep it longer than the message.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLPortRef RLPortMessageGetSendPort(RLPortMessageRef message);

/** Tells where replies to a message go, or, of a received one, at which port it arrived.
 *  @param message  not NULL.
 *  @return the port; NULL if there is none, or on a mistake.
 *  Ownership: Get rule; retain it to keep it longer than the message.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLPortRef RLPortMessageGetReceivePort(RLPortMessageRef message);

/** Tells what is in a message.
 *  @param message  not NULL.
 *  @return the array that the sender gave, NULL if it gave none, or on a mistake.
 *  Ownership: Get rule; retain it to keep it longer than the message.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/ports.c */
RL_EXPORT RLArrayRef RLPortMessageGetComponents(RLPortMessageRef message);

/** Sends a message: puts it into the queue of its send port, and wakes a loop that is to receive it.
 *  It waits only if the queue is full, and then at most until the limit.
 *  @param message  not NULL. It stays yours and may be sent again.
 *  @param limit    until when to wait for room; a past date means not at all. Not NaN.
 *  @return 1 if it is in the queue, else 0.
 *  Ownership: none changes; the queue retains ports and components.  Thread: any.
 *  Re-entrancy: allowed in callbacks; to wait for a port that only this thread serves is in vain.
 *  Errors: 0 with errno ETIMEDOUT if the queue was full until the limit, EPIPE if the port is invalid, ENOMEM; NULL,
 *  another kind of object, or NaN is reported and gives 0.
 *  Cost: O(1); copies no data; a system call only if a loop must be woken or there is no room.  Since: 0.1.
 *  Example: examples/ports.c */
RL_EXPORT RLBoolean RLPortMessageSendBeforeDate(RLPortMessageRef message, RLAbsoluteTime limit);

RL_EXTERN_C_END
#endif
