/** @file RLStreamFilter.h
 *  Filters: what stands between a stream and its descriptor, such as TLS: adapters/openssl.h.
 *  Examples: examples/stream-filter.c
 *
 *  A filter turns bytes of the program into bytes of the descriptor, and back. The program uses the stream as ever:
 *  pieces, queue, flushing and half-closing are those of its own bytes.
 *
 *      descriptor → receive → RLStreamFilterDeliver → the program's function
 *      RLStreamWrite → write → RLStreamFilterSend → descriptor
 *
 *  Until RLStreamFilterOpen(), and during RLStreamFilterHoldWrites(), what the program writes waits in front of the
 *  filter, so that it may talk to its peer first. What is read before a filter is set goes to the program as it is: set
 *  it before the stream is added to a loop, or in the stream's function, when what follows is the filter's.
 *
 *  RLStreamGetQueuedLength() counts what the program has written until the filter is open, and from then on what the
 *  filter has sent, and what is held back. The filter is not told of errors of the descriptor, nor of RLStreamClose(),
 *  but by its release.
 *
 *  A peer that sends and does not read is read no more while over 64 KiB wait that the filter has sent from its
 *  `receive`: its answers.
 *
 *  The filter's functions are called one at a time, while the stream is locked: they may call the functions below and
 *  RLStreamGetNativeDescriptor(), and must not wait for another thread that uses the stream, run the loop, or end their
 *  thread, which would leave the stream locked. */
#ifndef RUNLOOPKIT_RLSTREAMFILTER_H
#define RUNLOOPKIT_RLSTREAMFILTER_H
#include <RunLoopKit/RLStream.h>
RL_EXTERN_C_BEGIN

/** Called with bytes, one call at a time, while the stream is locked.
 *  @param stream  the stream.
 *  @param bytes   NULL if there are none.
 *  @param length  how many.
 *  @param info    the filter's. */
typedef void (*RLStreamFilterFunction)(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info);

/** A filter. Every function but release is needed. */
typedef struct RLStreamFilter {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the functions. */
    /** Called once, when the stream is closed. May be NULL. */
    void (*release)(void *info);
    /** Called once, by RLStreamSetFilter(): may do whatever the others may; as a rule it sends the first bytes. */
    void (*start)(RLStreamRef stream, void *info);
    /** Called with what was read; with a length of 0 when the descriptor is at its end. */
    RLStreamFilterFunction receive;
    /** Called with what the program writes, after the filter is open. Takes all of it. */
    RLStreamFilterFunction write;
    /** Called when the program shuts the stream down, after all that it has written: may say goodbye to its peer. */
    void (*shutdown)(RLStreamRef stream, void *info);
} RLStreamFilter;

/** Puts a filter in front of a stream's descriptor, for good.
 *  @param filter  not NULL; copied.
 *  @return 1, or 0 if the filter was not taken; then release is not called.
 *  Re-entrancy: calls start.
 *  Errors: 0 with errno EALREADY if there is one, EBADF if the stream is closed. */
RL_EXPORT RLBoolean RLStreamSetFilter(RLStreamRef stream, const RLStreamFilter *filter);

/** Returns the info of the filter if its `receive` is this function; otherwise NULL: there is none, or another one, or
 *  the stream was closed.
 *  @param receive  says which kind of filter is meant.
 *  Ownership: valid until the filter's release is called. */
RL_EXPORT void *RLStreamGetFilterInfo(RLStreamRef stream, RLStreamFilterFunction receive);

/** Hands bytes over to the program, as read.
 *  @param bytes   copied.
 *  @param length  how many. */
RL_EXPORT void RLStreamFilterDeliver(RLStreamRef stream, const uint8_t *bytes, RLIndex length);

/** Hands bytes over to the descriptor, which takes them at once, or they are queued.
 *  @param bytes   those that are queued are copied.
 *  @param length  how many.
 *  @return 1, or 0 with errno if the stream has failed. */
RL_EXPORT RLBoolean RLStreamFilterSend(RLStreamRef stream, const uint8_t *bytes, RLIndex length);

/** Says that the filter has agreed with its peer: kRLStreamEventOpenCompleted is told, and what the program has
 *  written is passed on. A second call has no effect. */
RL_EXPORT void RLStreamFilterOpen(RLStreamRef stream);

/** Holds back what the program writes, as before RLStreamFilterOpen(), while the filter can send nothing until its peer
 *  has said more. RLStreamShutdown() waits as well, and the descriptor is read even if the program has paused reading.
 *  No effect before the filter is open, and once the stream was shut down.
 *  @param hold  1: what is written waits; 0: it is passed on, first what has waited. */
RL_EXPORT void RLStreamFilterHoldWrites(RLStreamRef stream, RLBoolean hold);

/** Says that the peer will send nothing more: what was delivered comes first, then kRLStreamEventEndEncountered. */
RL_EXPORT void RLStreamFilterEnd(RLStreamRef stream);

/** Says that the filter has failed, in both directions: what was delivered comes first, then
 *  kRLStreamEventErrorOccurred. What was sent before is still written; what was held back is dropped.
 *  @param result  such as kRLStreamTruncated; not kRLStreamSuccess.
 *  @param error   an error number. */
RL_EXPORT void RLStreamFilterFail(RLStreamRef stream, RLStreamResult result, int error);

RL_EXTERN_C_END
#endif
