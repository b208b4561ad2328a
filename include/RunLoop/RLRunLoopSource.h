/** @file RLRunLoopSource.h
 *  Sources: what gives a run loop input, from other threads (version 0) or from a file descriptor (version 1).
 *  Examples: examples/custom-source/run-loop-source.c, examples/port-source.c, examples/modes.c, examples/values.c
 *
 *  Version 0: signalled by the program
 *  -----------------------------------
 *  A thread puts data where the source will find it, calls RLRunLoopSourceSignal(), and then RLRunLoopWakeUp() for each
 *  loop that may serve the source: signalling alone does not wake. In its next pass the loop calls perform, once
 *  however often the source was signalled. The signal is cleared before perform is called, so a signal during perform
 *  leads to another call in the next pass. A source that is in several modes or loops performs in the first that sees
 *  the signal. schedule and cancel tell the source that it was added to or removed from a mode: once per mode, on the
 *  thread that adds or removes it; cancel also when the source is invalidated and when the loop's thread exits. They
 *  are the place to tell clients where to send their work.
 *
 *  Version 1: signalled by the kernel
 *  ----------------------------------
 *  getPort returns a file descriptor, and the loop calls perform when it is readable, at its end, or in error. It is
 *  level-triggered: perform must read, or it is called in every pass. The loop itself never reads. Two sources may have
 *  the same descriptor; both perform. One ready descriptor is delivered per pass, in no promised order; `order` is
 *  stored. Pipes, sockets, eventfds, timerfds, terminals and epoll descriptors work; a regular file and /dev/null are
 *  always ready. A stream socket that is not connected, not connecting and not listening is not ready, though poll(2)
 *  says so. Make descriptors non-blocking, as with every epoll loop: several may be found ready at once, and a perform
 *  that reads another source's descriptor causes that source to be called with nothing to read. The descriptor stays
 *  yours: keep it open while the source is in a loop, and remove or invalidate the source before you close it. There
 *  are no schedule and cancel functions, and RLRunLoopSourceSignal() has no effect.
 *
 *  Life cycle
 *  ----------
 *  Create, add to modes, signal, and at the end invalidate: that removes the source from every mode of every loop. Info
 *  is retained once in Create and released when the source is freed, not when it is invalidated (unlike timers and
 *  observers). The context is copied; the struct may be on the stack.
 *
 *  Equality
 *  --------
 *  Two sources are equal if they have the same order and version, the same equal, hash, perform and getPort functions,
 *  and infos that equal calls equal; without equal, infos that are the same pointer. A mode takes only one of several
 *  equal sources, and contains and removes by equality; so does the common set. A source added to the common modes is
 *  added to those that have no equal one. If each source has an info of its own, this never matters.
 *
 *  Deliberate differences from CFRunLoopSource on Linux (the list in RLRunLoop.h has them all)
 *  -------------------------------------------------------------------------------------------
 *  2. Version 1 is level-triggered, and the loop does not read. CF reads 8 bytes and reports once; of two sources on
 *     one descriptor only the last performs.
 *  3. Adding a version-0 source from another thread wakes the loop. CF does not.
 *  8. RLRunLoopSourceSignal() is async-signal-safe. CF's takes a lock.
 *  Version 1 has CF's struct for Linux: getPort returns an int, perform has one parameter. On a Mac it is a Mach port
 *  and four parameters. */
#ifndef RUNLOOP_RLRUNLOOPSOURCE_H
#define RUNLOOP_RLRUNLOOPSOURCE_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** What a version-0 source consists of. Every pointer may be NULL. */
typedef struct RLRunLoopSourceContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the functions below. */
    /** Called once, in Create; what it returns is the source's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the source is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
    /** Returns whether two infos are equal: see "Equality". NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *info1, const void *info2);
    /** A hash of info; equal infos must have equal hashes. RLHash() returns it. NULL: derived from info. */
    RLHashCode (*hash)(const void *info);
    /** Called when the source was added to a mode, on the thread that added it. */
    void (*schedule)(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
    /** Called when the source was removed from a mode, on the thread that did it (at thread exit the dying one). */
    void (*cancel)(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
    /** Called on the loop's thread after the source was signalled. May run the loop, and may then be re-entered. */
    void (*perform)(void *info);
} RLRunLoopSourceContext;

/** What a version-1 source consists of. Every pointer but getPort may be NULL. */
typedef struct RLRunLoopSourceContext1 {
    RLIndex version; /**< 1. */
    void *info;      /**< Passed to the functions below. */
    /** Called once, in Create; what it returns is the source's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the source is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
    /** Returns whether two infos are equal: see "Equality". NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *info1, const void *info2);
    /** A hash of info; equal infos must have equal hashes. RLHash() returns it. NULL: derived from info. */
    RLHashCode (*hash)(const void *info);
    /** Returns the descriptor to watch; called when the source is added. It must return the same one while the source
     *  is in a loop. A negative number stands for none; a number that is no open descriptor is reported.
     *  With either the source is added, and never performs. */
    int (*getPort)(void *info);
    /** Called on the loop's thread when the descriptor is ready. Reads it. */
    void (*perform)(void *info);
} RLRunLoopSourceContext1;

/** Returns the kind of sources, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopSourceGetTypeID(void);

/** Creates a source that is not yet in any loop.
 *  @param order    lower is served first within a pass; equal orders by the time of their first signal. Version 1 only
 *                  stores it.
 *  @param context  not NULL; copied. Version 1: pass an RLRunLoopSourceContext1, cast.
 *  @return the source, or NULL.
 *  Ownership: info is retained through context.retain until the source is freed.  Re-entrancy: calls context.retain. */
RL_EXPORT RLRunLoopSourceRef RLRunLoopSourceCreate(RLAllocatorRef allocator, RLIndex order,
                                                   RLRunLoopSourceContext *context);

/** Returns the order with which a source was created. */
RL_EXPORT RLIndex RLRunLoopSourceGetOrder(RLRunLoopSourceRef source);

/** Ends a source: removes it from every mode of every loop, for good.
 *  It never performs again, even if it was signalled; this does not wait for a perform that is running on another
 *  thread. Signalling and adding it have no effect from now on. Info stays readable; it is released when the source is
 *  freed. If this empties the mode of a run on another thread, that run ends. A second call has no effect.
 *  Ownership: the loops release the source; your reference stays.
 *  Re-entrancy: calls cancel of a version-0 source for each mode, on this thread.
 *  Cost: O(modes that it is in); version 1 may need one system call per loop. */
RL_EXPORT void RLRunLoopSourceInvalidate(RLRunLoopSourceRef source);

/** Returns whether a source can still perform: whether it was not invalidated. */
RL_EXPORT RLBoolean RLRunLoopSourceIsValid(RLRunLoopSourceRef source);

/** Sets whether a source keeps its modes from being empty, in every loop that it is in or comes into.
 *  If not (libuv: it is "unreferenced"), it performs as ever while something else keeps the run going, such as a source
 *  for the signal that ends the program; alone in a mode it never performs, as runs of an empty mode end at once. If
 *  this empties the mode of a run on another thread, that run ends. CF has no such function.
 *  @param keeps  1, as when it was created, or 0.
 *  Cost: O(loops that it is in). */
RL_EXPORT void RLRunLoopSourceSetKeepsModeRunning(RLRunLoopSourceRef source, RLBoolean keeps);

/** Copies the context of a source, also of an invalid one.
 *  @param context  set its version to 0 or 1 before the call: it says how large the struct is, and no more is written.
 *                  Afterwards version is that of the source, and says which struct it is.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopSourceGetContext(RLRunLoopSourceRef source, RLRunLoopSourceContext *context);

/** Signals a version-0 source: it performs in the next pass of a loop that serves it.
 *  This does not wake the loop: see RLRunLoopWakeUp(). The source stays signalled until it performs, also while no loop
 *  runs; signalling it again changes nothing. What was written before the call is visible to perform. A signal during
 *  its own perform leads to another one in the next pass. On a version-1 or invalid source it has no effect.
 *  Thread: any; async-signal-safe. */
RL_EXPORT void RLRunLoopSourceSignal(RLRunLoopSourceRef source);

/** Returns whether a version-0 source was signalled and has not performed since; always 0 for version 1.
 *  May be out of date when you read it. During its own perform it is 0, unless it was signalled again.
 *  Thread: any; async-signal-safe. */
RL_EXPORT RLBoolean RLRunLoopSourceIsSignalled(RLRunLoopSourceRef source);

RL_EXTERN_C_END
#endif
