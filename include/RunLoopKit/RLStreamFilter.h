/** @file RLStreamFilter.h
 *  Filters: layers between a stream and its descriptor, such as TLS (adapters/openssl.h).
 *  Examples: examples/stream-filter.c
 *
 *  A filter converts between the bytes of the program and the bytes of the descriptor. The program uses the stream as
 *  usual: chunks, queue, flushing and half-closing apply to its own bytes.
 *
 *      descriptor → receive → RLStreamFilterDeliver → the program's callback
 *      RLStreamWrite → write → RLStreamFilterSend → descriptor
 *
 *  Until RLStreamFilterOpen(), and during RLStreamFilterHoldWrites(), what the program writes waits in front of the
 *  filter, so that the filter can first negotiate with its peer. What is read before a filter is set is passed to the
 *  program unchanged: set the filter before the stream is added to a loop, or in the stream's callback when the bytes
 *  that follow are meant for the filter.
 *
 *  Until the filter is open, RLStreamGetQueuedLength() counts what the program has written; from then on it counts what
 *  the filter has sent and what is held back. The filter is notified neither of errors of the descriptor nor of
 *  RLStreamClose(), except by its release function.
 *
 *  If a peer sends but does not read, the stream stops reading from it while more than 64 KiB are queued that the
 *  filter has sent from its `receive` function, that is, of its answers.
 *
 *  The filter's functions are called one at a time, while the stream is locked. They may call the functions below and
 *  RLStreamGetNativeDescriptor(). They must not wait for another thread that uses the stream, run the loop, or end
 *  their thread, which would leave the stream locked. */
#ifndef RUNLOOPKIT_RLSTREAMFILTER_H
#define RUNLOOPKIT_RLSTREAMFILTER_H
#include <RunLoopKit/RLStream.h>
RL_EXTERN_C_BEGIN

/** A function of a filter that processes bytes. It is called while the stream is locked, one call at a time.
 *  @param stream  the stream.
 *  @param bytes   the bytes; NULL if there are none.
 *  @param length  the number of bytes.
 *  @param info    the filter's info. */
typedef void (*RLStreamFilterFunction)(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info);

/** The functions of a filter. All except release are required. */
typedef struct RLStreamFilter {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the functions. */
    /** Called once, when the stream is closed. May be NULL. */
    void (*release)(void *info);
    /** Called once, by RLStreamSetFilter(). It may do whatever the other functions may; usually it sends the first
     *  bytes. */
    void (*start)(RLStreamRef stream, void *info);
    /** Called with the bytes that were read; with a length of 0 at the end of the descriptor's stream. */
    RLStreamFilterFunction receive;
    /** Called with the bytes that the program writes, once the filter is open. Must accept all of them. */
    RLStreamFilterFunction write;
    /** Called when the program shuts the stream down, after everything that it has written. It may send the peer a
     *  closing message. */
    void (*shutdown)(RLStreamRef stream, void *info);
} RLStreamFilter;

/** Puts a filter between a stream and its descriptor, permanently.
 *  @param filter  not NULL; copied.
 *  @return 1, or 0 if the filter was not accepted; then release is not called.
 *  Re-entrancy: calls start.
 *  Errors: 0 with errno EALREADY if the stream has a filter, EBADF if it is closed. */
RL_EXPORT RLBoolean RLStreamSetFilter(RLStreamRef stream, const RLStreamFilter *filter);

/** Returns the info of a stream's filter if `receive` is the filter's function; otherwise, or if the stream has no
 *  filter or is closed, NULL.
 *  @param receive  identifies the kind of filter.
 *  Ownership: valid until the filter's release is called. */
RL_EXPORT void *RLStreamGetFilterInfo(RLStreamRef stream, RLStreamFilterFunction receive);

/** Delivers bytes to the program, as if they had been read.
 *  @param bytes   the bytes; copied.
 *  @param length  the number of bytes. */
RL_EXPORT void RLStreamFilterDeliver(RLStreamRef stream, const uint8_t *bytes, RLIndex length);

/** Sends bytes to the descriptor. Those that it does not accept at once are queued.
 *  @param bytes   the bytes; those that are queued are copied.
 *  @param length  the number of bytes.
 *  @return 1, or 0 with errno if the stream has failed. */
RL_EXPORT RLBoolean RLStreamFilterSend(RLStreamRef stream, const uint8_t *bytes, RLIndex length);

/** Declares the filter open, once it has agreed with its peer: kRLStreamEventOpenCompleted is reported, and what the
 *  program has written is passed on. A second call has no effect. */
RL_EXPORT void RLStreamFilterOpen(RLStreamRef stream);

/** Holds back what the program writes, as before RLStreamFilterOpen(), while the filter cannot send until it has heard
 *  more from its peer. RLStreamShutdown() waits as well, and the descriptor is read even if the program has paused
 *  reading. It has no effect before the filter is open, nor after the stream was shut down.
 *  @param hold  1: what is written waits; 0: it is passed on, beginning with what has waited. */
RL_EXPORT void RLStreamFilterHoldWrites(RLStreamRef stream, RLBoolean hold);

/** Declares that the peer will send nothing more: after everything that was delivered, kRLStreamEventEndEncountered is
 *  reported. */
RL_EXPORT void RLStreamFilterEnd(RLStreamRef stream);

/** Declares that the filter has failed, in both directions: after everything that was delivered,
 *  kRLStreamEventErrorOccurred is reported. What was sent before is still written; what was held back is dropped.
 *  @param result  such as kRLStreamTruncated; not kRLStreamSuccess.
 *  @param error   an errno value. */
RL_EXPORT void RLStreamFilterFail(RLStreamRef stream, RLStreamResult result, int error);

RL_EXTERN_C_END
#endif
