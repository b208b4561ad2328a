/** @file RLStream.h
 *  Streams: bytes are read and written through a descriptor without blocking, with a buffer in each direction.
 *  Examples: examples/chat.c, examples/relay.c, examples/echo.c, examples/upload.c,
 *  examples/listener.c
 *
 *  Create a stream for a connected socket, a pipe or a terminal, and add it to a mode of a loop:
 *
 *      RLStreamRef stream = RLStreamCreate(NULL, fd, 1, callout, &context);
 *      RLStreamSetReadDelimiter(stream, "\n", 1, 4096);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
 *
 *  The callback is called with each chunk that has arrived, here with each line, and when the stream ends or fails.
 *  RLStreamWrite() may be called at any time: what the descriptor does not take immediately is queued, and written when
 *  there is room.
 *
 *  Reading
 *  -------
 *  A stream reads while it is in a mode that runs. You choose what a chunk is: whatever has arrived (the default), a
 *  number of bytes (RLStreamSetReadCount), or everything up to a delimiter (RLStreamSetReadDelimiter). A choice made in
 *  a callback applies to the bytes that follow those of the callback. The last chunk before the end of the stream may
 *  be shorter, or lack its delimiter. If reading fails, an incomplete chunk is held back; to receive it, call
 *  RLStreamSetReadCount(stream, 0) in the callback that reports the error. RLStreamPauseReading() leaves further bytes
 *  in the kernel, and thus with the sender; RLStreamResumeReading() continues.
 *
 *  Up to 64 KiB are read at once, and all chunks in them are delivered in one pass: also after RLRunLoopStop(), but not
 *  after RLStreamPauseReading() or RLStreamClose().
 *
 *  Chunks are delivered one at a time, in order: a run that is nested in the callback reads nothing more from this
 *  stream, but continues to write to it, and may call the callback for that.
 *
 *  Writing
 *  -------
 *  If nothing is queued, RLStreamWrite() writes immediately and copies only what is left. So a reply on a socket costs
 *  one system call. RLStreamAppend() queues a small chunk, which is sent together with the next write. RLStreamFlush()
 *  has a function called when everything that was queued has been written, that is, handed to the kernel; the peer may
 *  not have received it.
 *
 *  The queue has no limit. A program that writes what it reads calls RLStreamCanAcceptBytes(), pauses reading when the
 *  result is 0, and resumes it when the event kRLStreamEventCanAcceptBytes reports that the queue has shrunk.
 *
 *  To write the same bytes to many streams, add them to a group: RLStreamGroup.h.
 *
 *  Forwarding
 *  ----------
 *  RLStreamForward() does all that for a program that only passes on what it reads. RLStreamForwardBoth() is all that a
 *  relay needs for two streams, or an echo server for one: it handles both directions, their ends, and closing.
 *
 *  The end
 *  -------
 *  Each direction ends separately. kRLStreamEventEndEncountered reports that the peer will send nothing more; the
 *  stream can still be written. RLStreamShutdown() ends the other direction, after everything that is queued; the
 *  stream can still be read. RLStreamClose() ends both immediately and drops what is queued; RLStreamCloseWhenWritten()
 *  writes it first.
 *
 *  An error is reported once for each direction, as kRLStreamEventErrorOccurred. An error of writing is reported after
 *  what the peer had sent before it, or after the first megabyte of that, and the stream continues to read. The end of
 *  a pseudoterminal is an error, EIO; if the reader of a pipe has closed its end, the next write fails. Nothing raises
 *  SIGPIPE. A stream that has ended or failed stays in its loops until it is closed.
 *
 *  No event reports that a peer has disappeared without a word. RLStreamSetIdleLimit() makes the stream of such a peer,
 *  or of one that is silent for too long, fail with ETIMEDOUT.
 *
 *  Life, threads, fork
 *  -------------------
 *  RLStreamClose() removes the stream from its loops and closes the descriptor, if the stream owns it; so does
 *  RLRunLoopSourceInvalidate() while the stream is in a loop, and so does the last RLRelease(). Functions passed to
 *  RLStreamFlush() that have not been called yet are called then, with kRLStreamCancelled: each is called exactly once.
 *
 *  Any thread may call any function. A stream may be in several loops: one of them reads at a time. You may set options
 *  of the socket through the descriptor, but must not read, write or close it.
 *
 *  A socket is left as it is, and so is a terminal: its descriptors 0, 1 and 2 are usually one open file, and printf()
 *  would lose output if that were non-blocking, so the stream opens the terminal once more for itself. Any other
 *  descriptor, and a terminal that cannot be opened, is made non-blocking for every process that shares it. If the
 *  stream does not own it, it blocks again when the stream is closed, unless another process closes that after fork().
 *  Then a stream for another descriptor of the same open file would block the loop, so close such streams together.
 *
 *  In the child of a fork() a stream continues with the loop of the thread that forked. Parent and child share its
 *  connection: close it in one of them. A stream that another thread was using at the moment of the fork has failed in
 *  the child. */
#ifndef RUNLOOPKIT_RLSTREAM_H
#define RUNLOOPKIT_RLSTREAM_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
#include <RunLoopKit/RLWorkers.h>
RL_EXTERN_C_BEGIN

/** A stream of bytes: a run loop source. */
typedef RLRunLoopSourceRef RLStreamRef;

/** The outcome of an operation; an error number gives the details. */
typedef int32_t RLStreamResult;
/** The values of RLStreamResult. */
enum {
    kRLStreamSuccess = 0,    /**< It succeeded. */
    kRLStreamFailed = 1,     /**< An error of the system: ECONNRESET, EPIPE, ECONNREFUSED, … */
    kRLStreamTooLong = 2,    /**< A chunk exceeds the limit (EMSGSIZE): reading stops until the chunk is redefined. */
    kRLStreamCancelled = 3,  /**< The stream was closed first (ECANCELED). */
    kRLStreamTruncated = 4,  /**< The stream ended where it must not: a filter's peer was cut off (EPROTO). */
    kRLStreamRefused = 5,    /**< A filter and its peer could not agree: a failed handshake (EPROTO). */
    kRLStreamNotTrusted = 6, /**< A filter does not trust its peer: an invalid certificate (EPROTO). */
    kRLStreamNotFound = 7    /**< The host or the service is unknown: `error` is that of getaddrinfo(). */
};

/** Returns a text for an outcome, such as "Connection refused" or "Name or service not known", for human readers. It is
 *  never NULL; an unknown number has a text that says so.
 *  @param result  a value of RLStreamResult, or any other number.
 *  @param error   the error number that came with it.
 *  Ownership: a constant; do not free it. */
RL_EXPORT const char *RLStreamResultGetText(RLStreamResult result, int error);

/** The type of an event: one of the constants below. The values are those of CFStream. */
typedef RLOptionFlags RLStreamEventType;
/** The values of RLStreamEventType. */
enum {
    kRLStreamEventOpenCompleted = 1,     /**< It is connected, and its filter, if any, has agreed with the peer's. */
    kRLStreamEventHasBytesAvailable = 2, /**< A chunk was read. */
    kRLStreamEventCanAcceptBytes = 4,    /**< The queue has shrunk: see RLStreamCanAcceptBytes(). */
    kRLStreamEventErrorOccurred = 8,     /**< Reading or writing has failed: see `result`. */
    kRLStreamEventEndEncountered = 16    /**< The peer will send nothing more. */
};

/** An event of a stream. */
typedef struct RLStreamEvent {
    RLStreamEventType type; /**< One of kRLStreamEvent… */
    RLStreamResult result;  /**< For an error, the reason; otherwise kRLStreamSuccess. */
    int error;              /**< For an error, its errno or, after kRLStreamNotFound, that of getaddrinfo(); else 0. */
    const uint8_t *bytes;   /**< The bytes that were read, valid during the callback; otherwise NULL. */
    RLIndex length;         /**< The number of bytes, at least 1; otherwise 0. */
} RLStreamEvent;

/** Called on the loop's thread for each event. It may use the stream in any way, also close and release it, and run the
 *  loop.
 *  @param stream  the stream.
 *  @param event   the event; valid during the callback.
 *  @param info    the stream's info. */
typedef void (*RLStreamCallBack)(RLStreamRef stream, const RLStreamEvent *event, void *info);

/** Called once for each RLStreamFlush(): on the loop's thread, or on the thread that closes the stream, during that
 *  call; then it must not end the thread, or the stream is never freed.
 *  @param stream  the stream; NULL if it was freed.
 *  @param result  kRLStreamSuccess: everything was written. kRLStreamFailed, kRLStreamCancelled: some of it never will
 *                 be.
 *  @param error   the error number, or 0.
 *  @param info    as passed to RLStreamFlush(). */
typedef void (*RLStreamFlushCallBack)(RLStreamRef stream, RLStreamResult result, int error, void *info);

/** The info of a stream and the functions that manage it. Every pointer may be NULL. */
typedef struct RLStreamContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the stream's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the stream is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLStreamContext;

/** Creates a stream for a descriptor.
 *  @param descriptor         a connected or connecting stream socket, an end of a pipe, a terminal, …
 *  @param closeOnInvalidate  whether the stream closes the descriptor.
 *  @param callout            NULL: the stream reads only while it is forwarded, and reports nothing.
 *  @param context            copied; NULL: info is NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed. With closeOnInvalidate the
 *  descriptor belongs to the stream; without it, or if the result is NULL, to you.  Re-entrancy: calls
 *  context.retain.
 *  Errors: misuse: a descriptor that is not open, and a socket that is not a stream socket.
 *  Cost: some allocations, up to eleven system calls. */
RL_EXPORT RLStreamRef RLStreamCreate(RLAllocatorRef allocator, int descriptor, RLBoolean closeOnInvalidate,
                                     RLStreamCallBack callout, const RLStreamContext *context);

/** Creates a stream that connects to an address in the background.
 *  kRLStreamEventOpenCompleted reports that it is connected, kRLStreamEventErrorOccurred that it has failed. What is
 *  written meanwhile is queued.
 *  @param address  a struct sockaddr, for instance one from RLHostResolve.h.
 *  @param callout  as for RLStreamCreate().
 *  @param context  copied; NULL: info is NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with the errno of socket() or connect() if it fails immediately.  Cost: that of RLStreamCreate(). */
RL_EXPORT RLStreamRef RLStreamCreateConnectedToAddress(RLAllocatorRef allocator, RLDataRef address,
                                                       RLStreamCallBack callout, const RLStreamContext *context);

/** Creates a stream that connects to a host, given by name, in the background.
 *  The host's addresses are tried in the order that the resolver returns, with address families taking turns: each one
 *  250 ms after the previous one, or as soon as that has failed. The stream uses the first that connects and drops the
 *  others (RFC 8305). kRLStreamEventOpenCompleted reports that it is connected. kRLStreamEventErrorOccurred reports
 *  that the name is unknown (kRLStreamNotFound), that no address could be connected (kRLStreamFailed, with the error of
 *  the address that failed last), or that the time is up (ETIMEDOUT). What is written meanwhile is queued. To give up,
 *  close the stream.
 *  @param host     a name or a numeric address; NULL: this machine. Copied.
 *  @param service  a name such as "http", or a numeric port. Copied.
 *  @param workers  look up the name; NULL if the host is a numeric address: a name is not found then.
 *  @param timeout  seconds from this call until it has to be connected; HUGE_VAL, or 1e9 and more: the system's limits
 *                  apply.
 *  @param callout  as for RLStreamCreate().
 *  @param context  copied; NULL: info is NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed. The workers may be released; that
 *  waits for a name that is being looked up, and a stream whose name is still queued fails with ECANCELED.
 *  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno EAGAIN if the workers have no thread and none can be created. RLStreamWrite() fails with
 *  EHOSTUNREACH if the name is unknown. The child of a fork() has no workers: a name that has not been looked up by
 *  then makes its stream fail there within a second, with ECANCELED.
 *  Cost: a work for a name; a socket for each address that is tried; a timer in each loop that the stream is in. */
RL_EXPORT RLStreamRef RLStreamCreateConnectedToHost(RLAllocatorRef allocator, const char *host, const char *service,
                                                    RLWorkersRef workers, RLTimeInterval timeout,
                                                    RLStreamCallBack callout, const RLStreamContext *context);

/** Returns the descriptor; -1 after the stream was closed, and before a stream to a host is connected.
 *  Errors: misuse returns -1. */
RL_EXPORT int RLStreamGetNativeDescriptor(RLStreamRef stream);

/** Makes each chunk a number of bytes, from the next chunk on.
 *  @param count  the number of bytes; 0: whatever has arrived, which is the default. */
RL_EXPORT void RLStreamSetReadCount(RLStreamRef stream, RLIndex count);

/** Makes each chunk end at a delimiter, which is part of it, from the next chunk on.
 *  @param delimiter  1 to 128 bytes, which need not be characters; copied.
 *  @param length     the number of its bytes.
 *  @param longest    the maximum length of a chunk, including its delimiter. A longer one is kRLStreamTooLong.
 *  @return 1, or 0 if nothing has changed.  Cost: the first call for a stream allocates. */
RL_EXPORT RLBoolean RLStreamSetReadDelimiter(RLStreamRef stream, const void *delimiter, RLIndex length,
                                             RLIndex longest);

/** Pauses reading: the callback is called neither with bytes nor with the end until RLStreamResumeReading().
 *  Errors are reported meanwhile, that of a filter only after everything that it has delivered.
 *  Thread: on a thread other than the loop's, it may return while a callback is still running. */
RL_EXPORT void RLStreamPauseReading(RLStreamRef stream);

/** Resumes reading. No effect on a stream that is not paused. */
RL_EXPORT void RLStreamResumeReading(RLStreamRef stream);

/** Writes bytes. If nothing is queued, as many as the descriptor takes are written immediately; the rest is copied and
 *  queued.
 *  @param bytes   NULL if there are none.
 *  @param length  the number of bytes; 0 writes what RLStreamAppend() has queued.
 *  @return 1, or 0 if the bytes are not taken.
 *  Errors: 0 with errno EPIPE after RLStreamShutdown(), EBADF after RLStreamClose(); otherwise the error of this write
 *  or an earlier one. ENOMEM if the rest cannot be queued; if a part was written, the stream has failed, too.
 *  Cost: if nothing is queued, one system call; for a descriptor that is not a socket three, because SIGPIPE is blocked
 *  meanwhile, and one more if not all of it fits. Allocates if bytes have to be queued and the queue has no room. */
RL_EXPORT RLBoolean RLStreamWrite(RLStreamRef stream, const void *bytes, RLIndex length);

/** Writes bytes as RLStreamWrite() does, but retains the data instead of copying them.
 *  @param data  must not change before it has been written.
 *  @return 1, or 0 if the bytes are not taken.
 *  Errors: those of RLStreamWrite().  Cost: that of RLStreamWrite(). */
RL_EXPORT RLBoolean RLStreamWriteData(RLStreamRef stream, RLDataRef data);

/** Queues bytes so that they are sent together with the next write. Without one, they are written in the next pass of
 *  the loop.
 *  @param bytes   NULL if there are none.
 *  @param length  the number of bytes.
 *  @return 1, or 0 if the bytes are not taken.  Errors: those of RLStreamWrite().  Cost: no system call, unless a
 *  loop sleeps. */
RL_EXPORT RLBoolean RLStreamAppend(RLStreamRef stream, const void *bytes, RLIndex length);

/** Has a function called when everything that was written or appended before has been handed to the system.
 *  @param callout  not NULL.
 *  @param info     passed to the function.
 *  @return 1, or 0 if it will not be called.
 *  Errors: those of RLStreamWrite(), except that EPIPE after RLStreamShutdown() is none.
 *  Cost: an allocation, unless an earlier one can be reused. */
RL_EXPORT RLBoolean RLStreamFlush(RLStreamRef stream, RLStreamFlushCallBack callout, void *info);

/** Forwards a stream: from now on, the library writes everything that it receives to another stream.
 *  The callback of `from` is called with no bytes, and `from` has no chunks. When the queue of `to` has reached its
 *  high-water mark, `from` rests: it is not read until that queue has shrunk to half the mark. Meanwhile `to` is not
 *  sent kRLStreamEventCanAcceptBytes. When `from` ends, `to` is shut down, after everything that was forwarded, and
 *  then the end is reported. Errors of both streams are reported as usual; an error of `from` does not affect `to`. If
 *  `to` is closed, is shut down or has failed, forwarding ends with the next bytes: they go to the callback of `from`.
 *  @param from  what it has received but not yet delivered is forwarded, too.
 *  @param to    may be in another loop, or be `from` itself: an echo. NULL: `from` is no longer forwarded, and the next
 *               bytes are delivered.
 *  @return 1, or 0 if nothing has changed.
 *  Ownership: `from` retains `to` until forwarding ends, and `to` retains `from` while that rests; a stream that is
 *  forwarded to itself does not retain itself. Two streams that are forwarded to each other are freed after one of them
 *  was closed.
 *  Thread: on a thread other than the loop's, it may return while bytes are still on their old path.
 *  Errors: 0 with errno EBADF if `from` is closed or no longer read, EBUSY if another stream is forwarded to `to`;
 *  those of RLStreamWrite() for `to`.  Cost: none; each read costs what RLStreamWrite() does. */
RL_EXPORT RLBoolean RLStreamForward(RLStreamRef from, RLStreamRef to);

/** Forwards two streams to each other until both are closed, which happens to both together.
 *  Each stream is forwarded to the other, as by RLStreamForward(). When both have ended, or when one has failed or was
 *  closed, both are closed, as by RLStreamCloseWhenWritten(): what is queued for the other peer is still written.
 *  Before that, ends and errors are reported to their callbacks, which may be NULL.
 *  @param other  may be `stream` itself: an echo.
 *  @return 1, or 0 if they are not forwarded; if `other` refuses, an earlier forwarding of `stream` has ended.
 *  Ownership: the streams retain each other until they are closed; a stream does not retain itself. The program need
 *  not close either of them, but a stream that is in no loop is not closed by what its peer does.
 *  Errors: those of RLStreamForward(); 0 with errno EBUSY if one of them already has another partner.  Cost: that of
 *  RLStreamForward(). */
RL_EXPORT RLBoolean RLStreamForwardBoth(RLStreamRef stream, RLStreamRef other);

/** Returns the number of bytes in the queue. */
RL_EXPORT RLIndex RLStreamGetQueuedLength(RLStreamRef stream);

/** Sets the high-water mark: the length of the queue from which on RLStreamCanAcceptBytes() returns 0, a stream that is
 *  forwarded to this one rests, and RLStreamGroupWrite() makes this one fail. The queue itself takes more.
 *  @param length  at least 1; the default is 65536. */
RL_EXPORT void RLStreamSetHighWaterMark(RLStreamRef stream, RLIndex length);

/** Checks whether the queue is shorter than its high-water mark.
 *  If it is not, kRLStreamEventCanAcceptBytes is reported once the queue has shrunk to half the mark. A program that
 *  never calls this function never receives that event.
 *  @return 1 or 0; 0 without a later event if nothing can be written any more. */
RL_EXPORT RLBoolean RLStreamCanAcceptBytes(RLStreamRef stream);

/** Sets how long a stream may be idle: the time during which no byte is read from its descriptor or written to it.
 *  When the time is up, both directions fail with ETIMEDOUT. It starts with this call and again with each byte. It also
 *  runs while the stream connects or is not read, and is checked while the stream is in a mode that runs. If the
 *  descriptor is ready when the time is up, it starts again: the program was slow, not the peer.
 *  @param seconds  the limit in seconds; 0: none, which is the default.
 *  Errors: a negative number is misuse; without memory for a timer, the stream fails with ENOMEM.
 *  Cost: a timer in each loop that the stream is in; a reading of the clock for each read and write. */
RL_EXPORT void RLStreamSetIdleLimit(RLStreamRef stream, RLTimeInterval seconds);

/** Ends writing: once everything that is queued is written, the peer is notified that nothing more will be sent.
 *  The peer of a socket reads to the end, and may answer. A descriptor that can only be written, such as the end of a
 *  pipe, is closed instead, and the stream with it. A second call has no effect.
 *  Re-entrancy: that of RLStreamClose(), for such a descriptor. */
RL_EXPORT void RLStreamShutdown(RLStreamRef stream);

/** Ends writing as RLStreamShutdown() does, and closes the stream once everything that is queued is written, or writing
 *  fails. Until then it is read, unless it is paused. If bytes from the peer are unread when it is closed, TCP resets
 *  the connection, and the peer may lose the last of what was written. To prevent that, call this function after the
 *  peer has ended, too.
 *  Re-entrancy: that of RLStreamClose(). */
RL_EXPORT void RLStreamCloseWhenWritten(RLStreamRef stream);

/** Closes a stream: it is removed from its loops and groups, what is queued is dropped, and the descriptor is closed if
 *  the stream owns it. A second call has no effect.
 *  Thread: does not wait for a callback that is running on another thread.
 *  Re-entrancy: calls the functions of RLStreamFlush() that have not been called yet, and a filter's release. */
RL_EXPORT void RLStreamClose(RLStreamRef stream);

RL_EXTERN_C_END
#endif
