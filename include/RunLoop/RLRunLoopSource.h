/** @file RLRunLoopSource.h
 *  Sources: input for a run loop, from other threads (version 0) or from a file descriptor (version 1).
 *  Examples: examples/custom-source/run-loop-source.c, examples/port-source.c, examples/modes.c, examples/values.c
 *
 *  Version 0: signalled by the program
 *  -----------------------------------
 *  A thread stores data where the source will find it, calls RLRunLoopSourceSignal(), and then calls RLRunLoopWakeUp()
 *  for each loop that may serve the source: signalling alone does not wake a loop. In its next pass the loop calls
 *  perform once, however often the source was signalled. The signal is cleared before perform is called, so a signal
 *  during perform causes another call in the next pass. A source that is in several modes or loops performs in the
 *  first one that sees the signal. schedule and cancel notify the source that it was added to or removed from a mode.
 *  They are called once per mode, on the thread that adds or removes it; cancel is also called when the source is
 *  invalidated and when the loop's thread exits. Use them to tell the source's clients which loop to wake.
 *
 *  Version 1: signalled by the kernel
 *  ----------------------------------
 *  getPort returns a file descriptor, and the loop calls perform when that is readable, at its end, or in error. The
 *  source is level-triggered: perform must read, or it is called in every pass. The loop itself never reads. Several
 *  sources may have the same descriptor; all of them perform. One ready descriptor is served per pass, in an
 *  unspecified order; `order` is only stored. Pipes, sockets, eventfds, timerfds, terminals and epoll descriptors work;
 *  a regular file and /dev/null are always ready. A stream socket that is not connected, not connecting and not
 *  listening is not ready, although poll(2) says so. Make descriptors non-blocking, as with every epoll loop: several
 *  may be found ready at once, and if one perform function reads another source's descriptor, that source is called
 *  with nothing to read. The descriptor stays yours: keep it open while the source is in a loop, and remove or
 *  invalidate the source before you close it. There are no schedule and cancel callbacks, and RLRunLoopSourceSignal()
 *  has no effect.
 *
 *  Life cycle
 *  ----------
 *  Create a source, add it to modes, signal it, and finally invalidate it, which removes it from every mode of every
 *  loop. Info is retained once in Create and released when the source is freed, not when it is invalidated (unlike
 *  timers and observers). The context is copied, so the struct may be on the stack.
 *
 *  Equality
 *  --------
 *  Two sources are equal if they have the same order and version, the same equal, hash, perform and getPort functions,
 *  and infos that the equal function calls equal, or, without an equal function, the same info pointer. A mode takes
 *  only one of several equal sources, and its functions find and remove a source by equality; the same goes for the
 *  common items. A source added to the common modes is added to those of them that have no equal one. If each source
 *  has an info of its own, none of this matters.
 *
 *  Deliberate differences from CFRunLoopSource on Linux (the list in RLRunLoop.h has them all)
 *  -------------------------------------------------------------------------------------------
 *  2. Version 1 is level-triggered, and the loop does not read. CF reads 8 bytes and reports once; of two sources on
 *     one descriptor only the last performs.
 *  3. Adding a version-0 source from another thread wakes the loop. CF does not.
 *  8. RLRunLoopSourceSignal() is async-signal-safe. CF's takes a lock.
 *  Version 1 has CF's struct for Linux: getPort returns an int, and perform has one parameter. On a Mac getPort returns
 *  a Mach port and perform has four parameters. */
#ifndef RUNLOOP_RLRUNLOOPSOURCE_H
#define RUNLOOP_RLRUNLOOPSOURCE_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** The info and callbacks of a version-0 source. Every pointer may be NULL. */
typedef struct RLRunLoopSourceContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callbacks below. */
    /** Called once, in Create; what it returns is the source's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the source is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
    /** Returns whether two infos are equal: see "Equality". NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *info1, const void *info2);
    /** Returns a hash of info, which RLHash() returns; equal infos must have equal hashes. NULL: derived from info. */
    RLHashCode (*hash)(const void *info);
    /** Called when the source was added to a mode, on the thread that added it. */
    void (*schedule)(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
    /** Called when the source was removed from a mode, on the thread that removed it (at thread exit, on that
     *  thread). */
    void (*cancel)(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
    /** Called on the loop's thread after the source was signalled. May run the loop, which may then call it again. */
    void (*perform)(void *info);
} RLRunLoopSourceContext;

/** The info and callbacks of a version-1 source. Every pointer except getPort may be NULL. */
typedef struct RLRunLoopSourceContext1 {
    RLIndex version; /**< 1. */
    void *info;      /**< Passed to the callbacks below. */
    /** Called once, in Create; what it returns is the source's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the source is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
    /** Returns whether two infos are equal: see "Equality". NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *info1, const void *info2);
    /** Returns a hash of info, which RLHash() returns; equal infos must have equal hashes. NULL: derived from info. */
    RLHashCode (*hash)(const void *info);
    /** Returns the descriptor to watch; called when the source is added. It must return the same descriptor while the
     *  source is in a loop. A negative number means no descriptor; a number that is not an open descriptor is reported.
     *  In either case the source is added but never performs. */
    int (*getPort)(void *info);
    /** Called on the loop's thread when the descriptor is ready. It should read the descriptor. */
    void (*perform)(void *info);
} RLRunLoopSourceContext1;

/** Returns the type ID of sources, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopSourceGetTypeID(void);

/** Creates a source that is not yet in any loop.
 *  @param order    lower orders perform first within a pass, equal orders by the time of their first signal. A
 *                  version-1 source only stores it.
 *  @param context  not NULL; copied. Version 1: pass an RLRunLoopSourceContext1, cast.
 *  @return the source, or NULL.
 *  Ownership: info is retained through context.retain until the source is freed.  Re-entrancy: calls context.retain. */
RL_EXPORT RLRunLoopSourceRef RLRunLoopSourceCreate(RLAllocatorRef allocator, RLIndex order,
                                                   RLRunLoopSourceContext *context);

/** Returns the order with which a source was created. */
RL_EXPORT RLIndex RLRunLoopSourceGetOrder(RLRunLoopSourceRef source);

/** Invalidates a source: removes it from every mode of every loop, permanently.
 *  It never performs again, even if it was signalled; but a perform callback that is running on another thread is not
 *  waited for. Signalling or adding the source has no effect from now on. Info stays readable; it is released when the
 *  source is freed. If this empties the mode of a run on another thread, that run ends. A second call has no effect.
 *  Ownership: the loops release the source; your reference stays.
 *  Re-entrancy: calls cancel of a version-0 source for each mode, on this thread.
 *  Cost: O(modes that the source is in); version 1 may need one system call per loop. */
RL_EXPORT void RLRunLoopSourceInvalidate(RLRunLoopSourceRef source);

/** Returns whether a source is valid: whether it was not invalidated. */
RL_EXPORT RLBoolean RLRunLoopSourceIsValid(RLRunLoopSourceRef source);

/** Sets whether a source keeps its modes from being empty, in every loop that it is in or is added to later.
 *  A source that does not ("unreferenced", in libuv's term) performs as usual while something else keeps the run going;
 *  an example is a source for the signal that ends the program. Alone in a mode it never performs, since runs in an
 *  empty mode return immediately. If this empties the mode of a run on another thread, that run ends. CF has no such
 *  function.
 *  @param keeps  1, the state of a new source, or 0.
 *  Cost: O(loops that the source is in). */
RL_EXPORT void RLRunLoopSourceSetKeepsModeRunning(RLRunLoopSourceRef source, RLBoolean keeps);

/** Copies the context of a source; the source may be invalid.
 *  @param context  set its version to 0 or 1 before the call: this determines how large the struct is, and no more is
 *                  written. Afterwards version is that of the source, and tells which of the two structs was written.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopSourceGetContext(RLRunLoopSourceRef source, RLRunLoopSourceContext *context);

/** Signals a version-0 source: it performs in the next pass of a loop that serves it.
 *  This does not wake the loop: see RLRunLoopWakeUp(). The source stays signalled until it performs, even while no loop
 *  runs; signalling it again changes nothing. What was written before the call is visible to perform. A signal during
 *  the source's own perform causes another call in the next pass. It has no effect on a version-1 or invalid source.
 *  Thread: any; async-signal-safe. */
RL_EXPORT void RLRunLoopSourceSignal(RLRunLoopSourceRef source);

/** Returns whether a version-0 source was signalled and has not performed since; always 0 for version 1.
 *  The result may already be out of date. It is 0 during the source's own perform, unless the source was signalled
 *  again.
 *  Thread: any; async-signal-safe. */
RL_EXPORT RLBoolean RLRunLoopSourceIsSignalled(RLRunLoopSourceRef source);

RL_EXTERN_C_END
#endif
