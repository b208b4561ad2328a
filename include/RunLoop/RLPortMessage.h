/** @file RLPortMessage.h
 *  Messages: what is sent from port to port within a process (NSPortMessage for C). See RLPort.h.
 *  Example: examples/ports.c
 *
 *  A message has a number (its message ID, yours to choose), a destination port, optionally a port for replies, and
 *  components: data and other ports. None of it is copied, except for a mutable array: the receiver gets the same
 *  objects. So do not change mutable data once it has been sent, nor bytes to which a data object only refers
 *  (RLDataCreateWithBytesNoCopy()) before that object is freed.
 *
 *  Which port is which
 *  -------------------
 *  As in NSPortMessage, the names are from the viewpoint of the side that has the message:
 *
 *      a message that I created:   send port = where it goes;               receive port = where replies reach me
 *      a message that I received:  send port = where replies go (or NULL);  receive port = the port it arrived at
 *
 *  The receiver's message is not the sender's object. So the sender may send its message again or release it
 *  immediately; but one thread must not change a message while another uses it. */
#ifndef RUNLOOP_RLPORTMESSAGE_H
#define RUNLOOP_RLPORTMESSAGE_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLPort.h>
RL_EXTERN_C_BEGIN

/** Returns the type ID of messages, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLPortMessageGetTypeID(void);

/** Creates a message to be sent. Its message ID is 0.
 *  @param sendPort     the destination.
 *  @param receivePort  the port for replies, or NULL.
 *  @param components   an array of RLData and RLPort, or NULL; anything else in it is misuse.
 *  @return the message, or NULL.
 *  Ownership: the message retains the ports and the array.  Cost: O(components). */
RL_EXPORT RLPortMessageRef RLPortMessageCreate(RLAllocatorRef allocator, RLPortRef sendPort, RLPortRef receivePort,
                                               RLArrayRef components);

/** Returns the message ID of a message; 0 if the sender did not set it. */
RL_EXPORT uint32_t RLPortMessageGetMessageID(RLPortMessageRef message);

/** Sets the message ID of a message. Messages already sent are not changed.
 *  @param messageID  any number; sender and receiver agree on what it means.
 *  Thread: one at a time. */
RL_EXPORT void RLPortMessageSetMessageID(RLPortMessageRef message, uint32_t messageID);

/** Returns the destination of a message or, for a received one, the port for replies to it; NULL if its sender wants
 *  none.
 *  Ownership: Get rule; retain it to keep it longer than the message. */
RL_EXPORT RLPortRef RLPortMessageGetSendPort(RLPortMessageRef message);

/** Returns the port for replies to a message (NULL: none) or, for a received one, the port at which it arrived.
 *  Ownership: Get rule; retain it to keep it longer than the message. */
RL_EXPORT RLPortRef RLPortMessageGetReceivePort(RLPortMessageRef message);

/** Returns the array of components that the sender passed; NULL if it passed none.
 *  Ownership: Get rule; retain it to keep it longer than the message. */
RL_EXPORT RLArrayRef RLPortMessageGetComponents(RLPortMessageRef message);

/** Sends a message: puts it into the queue of its send port, and wakes a loop that will receive it.
 *  It waits only if the queue is full, and at most until the limit. Waiting for a port that only this thread serves
 *  never succeeds.
 *  @param message  stays yours and may be sent again.
 *  @param limit    the date until which to wait for room; with a past date it does not wait.
 *  @return 1 if the message is in the queue, else 0.
 *  Ownership: the queue retains ports and components.
 *  Errors: 0 with errno ETIMEDOUT if the queue was full until the limit, EPIPE if the port is invalid.
 *  Cost: O(1); copies no data; a system call only if a loop must be woken or there is no room. */
RL_EXPORT RLBoolean RLPortMessageSendBeforeDate(RLPortMessageRef message, RLAbsoluteTime limit);

RL_EXTERN_C_END
#endif
