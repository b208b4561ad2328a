/** @file RLStream.h
 *  Streams: bytes are read and written through a descriptor, without waiting, with buffers on both ways.
 *  Examples: examples/chat.c, examples/relay.c, examples/echo.c, examples/upload.c,
 *  examples/listener.c
 *
 *  Create one for a connected socket, a pipe or a terminal, and add it to a mode of a loop:
 *
 *      RLStreamRef stream = RLStreamCreate(NULL, fd, 1, callout, &context);
 *      RLStreamSetReadDelimiter(stream, "\n", 1, 4096);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
 *
 *  The function is called with each piece that has come, here with each line, and when the stream ends or fails.
 *  RLStreamWrite() may be called at any time: what the descriptor does not take at once waits in a queue, and is
 *  written when there is room.
 *
 *  Reading
 *  -------
 *  A stream reads while it is in a mode that runs. You choose what one call is given: whatever has come (at first), a
 *  number of bytes (RLStreamSetReadCount), or everything up to a delimiter (RLStreamSetReadDelimiter). A choice made
 *  in a call holds for the bytes behind those of the call. The last piece before the end may be shorter, or lack its
 *  delimiter. If reading fails, an incomplete piece is kept back; the function gets it if it calls
 *  RLStreamSetReadCount(stream, 0) when it is told of the error. RLStreamPauseReading() leaves the rest with the
 *  kernel, and so with the sender; RLStreamResumeReading() goes on.
 *
 *  Up to 64 KiB are read at once, and all pieces in them are told in one pass: also after RLRunLoopStop(), but not
 *  after RLStreamPauseReading() or RLStreamClose().
 *
 *  Pieces come one at a time, in order: a run that is nested in the function reads nothing more of this stream, but
 *  goes on writing it, and may call the function for that.
 *
 *  Writing
 *  -------
 *  If nothing is queued, RLStreamWrite() writes at once; only the rest is copied. So a reply costs one system call.
 *  RLStreamAppend() puts a small piece into the queue, for the next write to take along. RLStreamFlush() calls a
 *  function when all that was queued has been written, which means that the kernel has it, not the peer.
 *
 *  The queue takes whatever it is given. A program that writes what it reads asks RLStreamCanAcceptBytes(), pauses
 *  the reading when that is 0, and resumes it when the event kRLStreamEventCanAcceptBytes says that the queue has
 *  shrunk.
 *
 *  To write the same bytes to many streams, add them to a group: RLStreamGroup.h.
 *
 *  Forwarding
 *  ----------
 *  RLStreamForward() does that for a program that only passes on what it reads. RLStreamForwardBoth() is all that a
 *  relay does with two streams, and an echo server with one: both directions, their ends, and the end of the streams.
 *
 *  The end
 *  -------
 *  Each direction ends by itself. kRLStreamEventEndEncountered: the peer will send nothing more; the stream can
 *  still be written. RLStreamShutdown() ends the other direction, behind all that is queued; the stream can still be
 *  read. RLStreamClose() ends both at once, and drops what is queued; RLStreamCloseWhenWritten() writes it before.
 *
 *  An error is told once for each direction, as kRLStreamEventErrorOccurred. One of writing is told after what the
 *  peer has sent before, or the first megabyte of it, and the stream goes on reading. The end of a pseudoterminal is
 *  an error, EIO; the end of a pipe's reader is noticed by the next write. Nothing raises SIGPIPE. A stream that has
 *  ended or failed stays in its loops until it is closed.
 *
 *  RLStreamSetIdleLimit() fails a stream whose peer is gone or says nothing, with ETIMEDOUT: no event tells of that.
 *
 *  Life, threads, fork
 *  -------------------
 *  RLStreamClose() takes the stream out of its loops and closes the descriptor, if the stream owns it; so does
 *  RLRunLoopSourceInvalidate() while the stream is in a loop, and the last RLRelease(). Functions of RLStreamFlush()
 *  that are still to be called are called then, with kRLStreamCancelled: each is called exactly once.
 *
 *  Any thread may call any function. A stream may be in several loops: one of them reads at a time. Use the
 *  descriptor for options of the socket, but do not read, write or close it. A descriptor that is not a socket is
 *  made non-blocking, for all who have it; a socket stays as it is.
 *
 *  In the child of a fork() a stream goes on with the loop of the thread that forked. Its connection is that of both
 *  processes: close it in one of them. A stream that another thread was using just then has failed in the child. */
#ifndef RUNLOOPKIT_RLSTREAM_H
#define RUNLOOPKIT_RLSTREAM_H
#include <RunLoop/RLData.h>
#include <RunLoop/RLRunLoopSource.h>
#include <RunLoopKit/RLWorkers.h>
RL_EXTERN_C_BEGIN

/** A stream of bytes: a run loop source. */
typedef RLRunLoopSourceRef RLStreamRef;

/** How something ended; an error number of errno(3) says more. */
typedef int32_t RLStreamResult;
/** The values of RLStreamResult. */
enum {
    kRLStreamSuccess = 0,    /**< It was done. */
    kRLStreamFailed = 1,     /**< The system refused: ECONNRESET, EPIPE, ECONNREFUSED, … */
    kRLStreamTooLong = 2,    /**< A piece longer than allowed (EMSGSIZE): reading stops until another piece is set. */
    kRLStreamCancelled = 3,  /**< The stream was closed before (ECANCELED). */
    kRLStreamTruncated = 4,  /**< The stream ended where it may not: the peer of a filter was cut off (EPROTO). */
    kRLStreamRefused = 5,    /**< A filter and its peer did not come to terms: a failed handshake (EPROTO). */
    kRLStreamNotTrusted = 6, /**< A filter does not trust its peer: a certificate that is not valid (EPROTO). */
    kRLStreamNotFound = 7    /**< The host or the service is not known: `error` is for gai_strerror(). */
};

/** What a stream is about to tell: one of the constants below. The values are those of CFStream. */
typedef RLOptionFlags RLStreamEventType;
/** The values of RLStreamEventType. */
enum {
    kRLStreamEventOpenCompleted = 1,     /**< It is connected, and its filter, if any, has agreed with the peer's. */
    kRLStreamEventHasBytesAvailable = 2, /**< A piece was read. */
    kRLStreamEventCanAcceptBytes = 4,    /**< The queue has shrunk: see RLStreamCanAcceptBytes(). */
    kRLStreamEventErrorOccurred = 8,     /**< Reading or writing has failed: see `result`. */
    kRLStreamEventEndEncountered = 16    /**< The peer will send nothing more. */
};

/** An event of a stream. */
typedef struct RLStreamEvent {
    RLStreamEventType type; /**< One of kRLStreamEvent… */
    RLStreamResult result;  /**< Of an error: why; otherwise kRLStreamSuccess. */
    int error;              /**< Of an error: its number; otherwise 0. */
    const uint8_t *bytes;   /**< What was read, valid during the call; otherwise NULL. */
    RLIndex length;         /**< How many bytes that are: at least 1; otherwise 0. */
} RLStreamEvent;

/** Called on the loop's thread. May do anything with the stream, close and release it too, and run the loop.
 *  @param stream  the stream.
 *  @param event   what has happened; valid during the call.
 *  @param info    the context's. */
typedef void (*RLStreamCallBack)(RLStreamRef stream, const RLStreamEvent *event, void *info);

/** Called once for each RLStreamFlush(): on the loop's thread, or by what closes the stream, on its thread.
 *  @param stream  the stream; NULL if it was freed.
 *  @param result  kRLStreamSuccess: all was written. kRLStreamFailed, kRLStreamCancelled: some of it never will be.
 *  @param error   the error number, or 0.
 *  @param info    as passed to RLStreamFlush(). */
typedef void (*RLStreamFlushCallBack)(RLStreamRef stream, RLStreamResult result, int error, void *info);

/** What is passed to the function. Every pointer may be NULL. */
typedef struct RLStreamContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
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
 *  @param callout            NULL: the stream reads only while it is forwarded, and tells nothing.
 *  @param context            copied; NULL for an info of NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed. With closeOnInvalidate the
 *  descriptor belongs to the stream; without it, or if the result is NULL, to you.  Re-entrancy: calls
 *  context.retain.
 *  Errors: a number that is no open descriptor, and a socket that is no stream socket, are misuse.
 *  Cost: some allocations, up to four system calls. */
RL_EXPORT RLStreamRef RLStreamCreate(RLAllocatorRef allocator, int descriptor, RLBoolean closeOnInvalidate,
                                     RLStreamCallBack callout, const RLStreamContext *context);

/** Creates a stream that connects to an address, in the background.
 *  kRLStreamEventOpenCompleted says that it is connected, kRLStreamEventErrorOccurred that it failed. What is written
 *  meanwhile is queued.
 *  @param address  a struct sockaddr, as RLHostResolve.h has it.
 *  @param callout  as for RLStreamCreate().
 *  @param context  copied; NULL for an info of NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno as socket() and connect() have it, if that is known at once.  Cost: that of
 *  RLStreamCreate(). */
RL_EXPORT RLStreamRef RLStreamCreateConnectedToAddress(RLAllocatorRef allocator, RLDataRef address,
                                                       RLStreamCallBack callout, const RLStreamContext *context);

/** Creates a stream that connects to a host by its name, in the background.
 *  The addresses of the host are tried in the order of the resolver, families taking turns: the next one 250 ms after
 *  the one before, or as soon as that has failed. The first that connects is the stream's, and the others are ended
 *  (RFC 8305). kRLStreamEventOpenCompleted says that it is connected; kRLStreamEventErrorOccurred that the name is not
 *  known (kRLStreamNotFound), that no address connects (kRLStreamFailed, with the error of the last one that has
 *  failed) or that the time is over (ETIMEDOUT). What is written meanwhile is queued. To give up, close the stream.
 *  @param host     its name, or its address in figures; NULL: this machine. Copied.
 *  @param service  a name such as "http", or a port in figures. Copied.
 *  @param workers  look the name up; NULL if the host is given in figures: a name is not found then.
 *  @param timeout  seconds from this call until it is connected; HUGE_VAL, or 1e9 and more: those of the system.
 *  @param callout  as for RLStreamCreate().
 *  @param context  copied; NULL for an info of NULL.
 *  @return the stream, or NULL.
 *  Ownership: info is retained through context.retain until the stream is freed. The workers may be released, which
 *  waits for a name that is being looked up; a name that waits for a worker fails its stream, with ECANCELED.
 *  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno EAGAIN if workers have no thread. RLStreamWrite() fails with EHOSTUNREACH if the name is
 *  not known. In the child of a fork() there are no workers: if the name has not been looked up by then, the stream
 *  fails there, with ECANCELED, within a second.
 *  Cost: a work for a name; a socket for each address that is tried; a timer in each loop that the stream is in. */
RL_EXPORT RLStreamRef RLStreamCreateConnectedToHost(RLAllocatorRef allocator, const char *host, const char *service,
                                                    RLWorkersRef workers, RLTimeInterval timeout,
                                                    RLStreamCallBack callout, const RLStreamContext *context);

/** Returns the descriptor; -1 after the stream was closed, and until the first connection to a host is made.
 *  Errors: misuse returns -1. */
RL_EXPORT int RLStreamGetNativeDescriptor(RLStreamRef stream);

/** Has the function called with pieces of a number of bytes, from the next piece on.
 *  @param count  0: whatever has come, as at first. */
RL_EXPORT void RLStreamSetReadCount(RLStreamRef stream, RLIndex count);

/** Has the function called with what comes up to a delimiter, which is part of the piece, from the next piece on.
 *  @param delimiter  from 1 to 128 bytes, which need not be characters; copied.
 *  @param length     how many.
 *  @param longest    how long a piece may be, with its delimiter. A longer one is kRLStreamTooLong.
 *  @return 1, or 0 if nothing has changed.  Cost: the first call of a stream allocates. */
RL_EXPORT RLBoolean RLStreamSetReadDelimiter(RLStreamRef stream, const void *delimiter, RLIndex length,
                                             RLIndex longest);

/** Stops reading: the function is not called with what comes, nor with the end, until RLStreamResumeReading().
 *  Thread: if this is not the loop's thread, a call may be under way. */
RL_EXPORT void RLStreamPauseReading(RLStreamRef stream);

/** Goes on reading. A stream that is not paused stays as it is. */
RL_EXPORT void RLStreamResumeReading(RLStreamRef stream);

/** Writes bytes: at once as many as the descriptor takes, if nothing is queued; the rest is copied and queued.
 *  @param bytes   NULL if there are none.
 *  @param length  how many; 0 writes what RLStreamAppend() has left.
 *  @return 1, or 0 if the bytes are not taken.
 *  Errors: 0 with errno EPIPE after RLStreamShutdown(), EBADF after RLStreamClose(); otherwise the error of this or
 *  an earlier write. ENOMEM if the rest cannot be queued, which is an error of the stream if a part was written.
 *  Cost: one system call if nothing is queued. Allocates if bytes have to be queued for which the queue has no room.
 *  */
RL_EXPORT RLBoolean RLStreamWrite(RLStreamRef stream, const void *bytes, RLIndex length);

/** Writes bytes as RLStreamWrite() does, and retains the data instead of copying them.
 *  @param data  not to be changed until it is written.
 *  @return 1, or 0 if the bytes are not taken.
 *  Errors: those of RLStreamWrite().  Cost: that of RLStreamWrite(). */
RL_EXPORT RLBoolean RLStreamWriteData(RLStreamRef stream, RLDataRef data);

/** Puts bytes into the queue, for the next write to take along. If there is none before, they are written in the next
 *  pass of the loop.
 *  @param bytes   NULL if there are none.
 *  @param length  how many.
 *  @return 1, or 0 if the bytes are not taken.  Errors: those of RLStreamWrite().  Cost: no system call, unless a
 *  loop sleeps. */
RL_EXPORT RLBoolean RLStreamAppend(RLStreamRef stream, const void *bytes, RLIndex length);

/** Has a function called when all that was written or appended before has been handed to the system.
 *  @param callout  not NULL.
 *  @param info     passed to it.
 *  @return 1, or 0 if it will not be called.
 *  Errors: those of RLStreamWrite().  Cost: an allocation, unless an earlier one is free again. */
RL_EXPORT RLBoolean RLStreamFlush(RLStreamRef stream, RLStreamFlushCallBack callout, void *info);

/** Has everything that a stream receives written to a stream, by the library, from now on.
 *  The function of `from` is called with no bytes, and `from` has no pieces. When the queue of `to` has reached its
 *  high-water mark, `from` rests: it is not read until that queue has shrunk to half the mark. `to` is not told
 *  kRLStreamEventCanAcceptBytes meanwhile. When `from` ends, `to` is shut down, behind all that was forwarded, and then
 *  the end is told. Errors of both are told as ever: one of `from` leaves `to` as it is. If `to` is closed, is shut
 *  down or has failed, forwarding ends with the next bytes: the function of `from` is called with them.
 *  @param from  what it has received and not yet told is forwarded too.
 *  @param to    may be in another loop, or `from` itself: an echo. NULL: `from` is forwarded no more, and the next
 *               bytes are told.
 *  @return 1, or 0 if nothing has changed.
 *  Ownership: `from` retains `to` until forwarding ends, and `to` retains `from` while that rests; a stream that is
 *  forwarded to itself does not retain itself. Two streams that are forwarded to each other are freed after
 *  one of them was closed.
 *  Thread: if this is not the loop's thread, bytes may be under way.
 *  Errors: 0 with errno EBADF if `from` is closed or not to be read any more, EBUSY if another stream is forwarded to
 *  `to`; those of RLStreamWrite() for `to`.  Cost: none; each read costs what RLStreamWrite() does. */
RL_EXPORT RLBoolean RLStreamForward(RLStreamRef from, RLStreamRef to);

/** Forwards two streams to each other, until both are closed, which they are together.
 *  Each is forwarded to the other one, as by RLStreamForward(). When both have ended, or one has failed or was closed,
 *  both are closed, as by RLStreamCloseWhenWritten(): what is queued for the other one's peer is still written. Their
 *  functions are told of ends and of errors before that; the streams may be without.
 *  @param other  may be `stream` itself: an echo.
 *  @return 1, or 0 if they are not forwarded; if `other` refuses, an earlier forwarding of `stream` has ended.
 *  Ownership: both retain each other until they are closed; a stream does not retain itself. A program need not close
 *  either of them, but a stream that is in no loop is not closed by what its peer does.
 *  Errors: those of RLStreamForward(); 0 with errno EBUSY if one of them has another partner already.  Cost: that of
 *  RLStreamForward(). */
RL_EXPORT RLBoolean RLStreamForwardBoth(RLStreamRef stream, RLStreamRef other);

/** Returns how many bytes wait in the queue. */
RL_EXPORT RLIndex RLStreamGetQueuedLength(RLStreamRef stream);

/** Sets from which length on RLStreamCanAcceptBytes() returns 0. The queue takes more all the same.
 *  @param length  at least 1; 65536 at first. */
RL_EXPORT void RLStreamSetHighWaterMark(RLStreamRef stream, RLIndex length);

/** Asks whether the queue is shorter than its high-water mark.
 *  If it is not, kRLStreamEventCanAcceptBytes is told once it has shrunk to half of that; a program that never asks
 *  is never told.
 *  @return 1 or 0; 0 without an event later if nothing can be written any more. */
RL_EXPORT RLBoolean RLStreamCanAcceptBytes(RLStreamRef stream);

/** Sets how long a stream may be idle: the time in which no byte is read from its descriptor or written to it.
 *  When it is over, both directions have failed, with ETIMEDOUT. It begins with this call, and again with each byte;
 *  it goes on while the stream connects or does not read, and is looked at while the stream is in a mode that runs.
 *  If the descriptor is ready when it is over, it begins again: the program was slow, and not the peer.
 *  @param seconds  how many seconds; 0: for ever, as at first.
 *  Errors: a negative number is misuse; if there is no memory for a timer, the stream fails with ENOMEM.
 *  Cost: a timer in each loop that the stream is in; a look at the clock for each read and write. */
RL_EXPORT void RLStreamSetIdleLimit(RLStreamRef stream, RLTimeInterval seconds);

/** Ends writing: when all that is queued is written, the peer is told that nothing more will come.
 *  The peer of a socket reads to the end, and may answer. A descriptor that can only be written, such as the end of a
 *  pipe, is closed then, and with it the stream. A second call has no effect.
 *  Re-entrancy: that of RLStreamClose(), for such a descriptor. */
RL_EXPORT void RLStreamShutdown(RLStreamRef stream);

/** Ends writing as RLStreamShutdown() does, and closes the stream when all that is queued is written, or writing fails.
 *  Until then it is read, unless it is paused. If the peer has sent bytes that were not read when it is closed, TCP
 *  resets the connection, and the peer may lose the last of what was written: to be safe, call this when the peer has
 *  ended, too.
 *  Re-entrancy: that of RLStreamClose(). */
RL_EXPORT void RLStreamCloseWhenWritten(RLStreamRef stream);

/** Ends a stream: it leaves its loops, what is queued is dropped, and the descriptor is closed if the stream owns it.
 *  A second call has no effect.
 *  Thread: does not wait for a call that another thread is in.
 *  Re-entrancy: calls the functions of RLStreamFlush() that were not called yet, and a filter's release. */
RL_EXPORT void RLStreamClose(RLStreamRef stream);

RL_EXTERN_C_END
#endif
