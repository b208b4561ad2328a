/** @file RLRunLoop.h
 *  Run loops: a thread waits for events and handles them one after the other.
 *  Examples: examples/modes.c, examples/loop-thread.c, examples/main-loop.c, examples/custom-source/main.c,
 *  examples/timers.c, examples/loop-observer.c, examples/demo/reader.c, examples/perform-on-thread.c, examples/values.c
 *
 *  Every thread has one run loop. RLRunLoopGetCurrent() creates it, and it works only while the thread is inside
 *  RLRunLoopRun() or RLRunLoopRunInMode(). Sources (RLRunLoopSource.h), timers (RLRunLoopTimer.h) and functions posted
 *  from any thread (RLRunLoopPerform.h) give it work; observers (RLRunLoopObserver.h) watch it. All of them are called
 *  on the loop's thread, inside the run.
 *
 *  Modes
 *  -----
 *  Sources, timers and observers (items) are added to a mode of a loop, and each run names the mode that it serves. A
 *  mode is a string, is created when something is added to it, and lives as long as the loop. A mode without sources,
 *  timers and queued functions is empty, and a run in it returns immediately; observers alone do not keep a mode
 *  running. kRLRunLoopCommonModes is not a mode but the set of common modes, at first just the default mode: adding or
 *  removing a common item affects all modes of the set, including those that RLRunLoopAddCommonMode() adds later.
 *
 *  An item may be in several modes, a source also in several loops, a timer or observer only in one at a time. A loop
 *  retains its items until they are removed or invalidated or it is destroyed. Adding an item twice, adding an invalid
 *  item or another loop's timer or observer, and removing what is not there have no effect. A run whose mode becomes
 *  empty ends at the end of the pass, or at once if another thread invalidates the last item or cancels the last
 *  function while the loop sleeps. Removing an item from another thread does not end a sleep: it may be changing modes.
 *
 *  One run, step by step
 *  ---------------------
 *   1. Notify observers: Entry.
 *   2. Notify observers: BeforeTimers.
 *   3. Notify observers: BeforeSources.
 *   4. a) Call queued functions; b) perform signalled version-0 sources, by order; c) if one did, call functions again.
 *   5. If a version-1 source is ready, go to step 9.
 *   6. Notify observers: BeforeWaiting.
 *   7. Sleep until a version-1 source is ready, a timer is due, the run's time limit is reached, or the loop is woken.
 *   8. Notify observers: AfterWaiting.
 *   9. Fire all due timers, or perform the ready version-1 source; call queued functions. The run ends with the first
 *      result that applies, HandledSource (if requested), TimedOut, Stopped or Finished, or goes back to step 2.
 *  10. Notify observers: Exit.
 *  Steps 6 to 8 are skipped in a run of 0 seconds, and in a pass in which a version-0 source performed in step 4. The
 *  observers of one activity are called in ascending order, those of equal order as they were added to the mode.
 *
 *  Fairness
 *  --------
 *  Each of n things that are ready in a mode is served within O(n) passes, however the loop is run, but for one case:
 *   - A pass fires all timers that are due when it reaches them, and calls the functions queued at that time; the rest
 *     of a queue that takes long waits for the next pass, unless the run has only one.
 *   - A pass performs all signalled version-0 sources, or only the first if the run returns after a source: the lowest
 *     order first, equal orders by the time of their first signal. As in CF, a lower order always goes first: in such
 *     runs (the one case) a source that signals itself each time keeps those of a higher order waiting.
 *   - A pass serves one descriptor. Descriptors that stay ready take turns with each other, and with timers that are
 *     always due. In each round sockets and descriptor objects go by order; version-1 sources only store theirs.
 *
 *  Life of a loop
 *  --------------
 *  The loop is destroyed when its thread exits: on that thread version-0 sources get cancel, all items are released,
 *  and queued functions are dropped and their release functions called. Other threads' waiting calls fail with ESRCH. A
 *  retained loop stays valid memory; functions on it do nothing. Items stay valid objects, in no loop. After fork() the
 *  child may continue to use the forking thread's loop, with its own kernel objects; other loops are gone.
 *
 *  Linux
 *  -----
 *  A loop uses no descriptor before it watches one, then at most two, and never a thread. Waking it costs a system call
 *  only if it sleeps. A call from another thread on a loop or its items, unless async-signal-safe, may take a
 *  microsecond longer. Signals that interrupt the sleep do not end it.
 *
 *  Deliberate differences from CFRunLoop (on Linux, as in the Swift toolchain)
 *  ---------------------------------------------------------------------------
 *  The numbers are the same in all headers; docs/SEMANTICS.md names the programs that show each difference.
 *   0. A version-1 source that is ready at step 5 is handled at once. CF notifies BeforeWaiting and AfterWaiting first.
 *   1. The main thread's loop can be empty: Finished. CF's never is in a common mode; see RLRunLoopRunInModeAsCF().
 *   2. Descriptors of version-1 sources are level-triggered and never read. CF reads 8 bytes and reports once.
 *   3. Adding a version-0 source from another thread wakes a sleeping loop. CF does not.
 *   4. Tolerances work: see RLRunLoopTimer.h. CF ignores them and returns 0.
 *   5. The child of a fork() can continue to use its loop. In CF it hangs.
 *   6. Running out of descriptors or memory is a return value with errno. CF aborts.
 *   7. There is no hidden thread (but see SECURITY.md). CF has one per timed run, and one that reads sockets ahead.
 *   8. WakeUp, Stop and Signal are async-signal-safe. In CF they take locks and may deadlock in a signal handler.
 *   9. A socket reports the end of its stream once, and an error to its write callback. CF spins at the end.
 *  10. A run ends when another thread invalidates the last item of its mode. CF continues to sleep.
 *  11. A wake-up that a nested run has consumed is passed on to the outer run. In CF the outer run continues to sleep.
 *  12. Sending on a socket never raises SIGPIPE, and sends everything or fails; an address can be reused immediately.
 *  13. A socket's callbacks wait for the connection. CF makes them at once if the source was added before.
 *  14. A socket callback that is disabled while it runs stays disabled. CF continues to accept.
 *  15. Due timers fire by date, equal dates as they were added. CF: past dates as set, equal future ones in any order.
 *  16. After a pass in which a source performed the loop checks again before it sleeps. CF may miss a signal here.
 *  17. RLAutorelease() releases at the end of the pass, as CFAutorelease does on a Mac. CF on Linux never releases.
 *  18. Sockets of different order take turns in runs that return after one source. CF serves the lowest order.
 *  19. A run does not wait for a timer that was invalidated before. CF wakes at its date, and makes a pass.
 *  20. A timer or observer that has left its modes, but not the common items, stays in its loop. CF forgets it. */
#ifndef RUNLOOP_RLRUNLOOP_H
#define RUNLOOP_RLRUNLOOP_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLBase.h>
#include <RunLoop/RLString.h>
RL_EXTERN_C_BEGIN

/** The name of a mode. Two names with the same bytes denote the same mode. */
typedef RLStringRef RLRunLoopMode;
/** A thread's run loop. */
typedef struct RLRunLoop *RLRunLoopRef;
/** An input source: RLRunLoopSource.h. */
typedef struct RLRunLoopSource *RLRunLoopSourceRef;
/** An observer of a loop's activities: RLRunLoopObserver.h. */
typedef struct RLRunLoopObserver *RLRunLoopObserverRef;
/** A timer: RLRunLoopTimer.h. */
typedef struct RLRunLoopTimer *RLRunLoopTimerRef;

/** Why a run ended: one of the four constants below. */
typedef int32_t RLRunLoopRunResult;
/** The results of RLRunLoopRunInMode(). */
enum {
    kRLRunLoopRunFinished = 1,     /**< The mode is empty: no source, timer or queued function; or see errno. */
    kRLRunLoopRunStopped = 2,      /**< RLRunLoopStop() was called. */
    kRLRunLoopRunTimedOut = 3,     /**< The time limit was reached. */
    kRLRunLoopRunHandledSource = 4 /**< A source was handled, and the caller requested a return in this case. */
};

RL_EXPORT const RLRunLoopMode kRLRunLoopDefaultMode;         /**< The mode for most work; always a common mode. */
RL_EXPORT const RLRunLoopMode kRLRunLoopCommonModes;         /**< Stands for all common modes; cannot be run. */
RL_EXPORT const RLRunLoopMode kRLRunLoopConnectionReplyMode; /**< Cocoa's; an ordinary mode here. */
RL_EXPORT const RLRunLoopMode kRLRunLoopModalPanelMode;      /**< Cocoa's; an ordinary mode here. */
RL_EXPORT const RLRunLoopMode kRLRunLoopEventTrackingMode;   /**< Cocoa's; an ordinary mode here. */

/** Returns the type ID of run loops, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopGetTypeID(void);

/** Returns the calling thread's loop, which the thread's first call creates; NULL on failure.
 *  Threads that will post work to this loop should retain it, as it ends with this thread.
 *  Ownership: Get rule; valid until the thread exits, longer if retained.  Cost: the first call allocates. */
RL_EXPORT RLRunLoopRef RLRunLoopGetCurrent(void);

/** Returns the loop of the process's initial thread (in the child of a fork(), of the thread that forked), or NULL.
 *  Ownership: Get rule; valid until that thread exits, longer if retained.  Cost: the first call may allocate. */
RL_EXPORT RLRunLoopRef RLRunLoopGetMain(void);

/** Returns the mode of a loop's innermost run, or NULL. Read from another thread, it may already be out of date. */
RL_EXPORT RLRunLoopMode RLRunLoopCopyCurrentMode(RLRunLoopRef rl);

/** Returns an array of a loop's modes, in no particular order: the default mode and those to which something was added.
 *  kRLRunLoopCommonModes is not among them.  Cost: O(modes). */
RL_EXPORT RLArrayRef RLRunLoopCopyAllModes(RLRunLoopRef rl);

/** Adds a mode to a loop's common modes, permanently, and all common items to the mode. A second call has no effect.
 *  Re-entrancy: calls the sources' schedule, equal and hash callbacks.  Cost: O(common items), may allocate. */
RL_EXPORT void RLRunLoopAddCommonMode(RLRunLoopRef rl, RLRunLoopMode mode);

/** Returns the earliest fire date of the timers in a mode, ignoring tolerances; it may be in the past.
 *  0.0 if the mode has no timers, and for kRLRunLoopCommonModes; 4039289856 if none of its timers is armed. */
RL_EXPORT RLAbsoluteTime RLRunLoopGetNextTimerFireDate(RLRunLoopRef rl, RLRunLoopMode mode);

/** Runs the calling thread's loop in the default mode until it is stopped or the mode is empty.
 *  In your own code prefer RLRunLoopRunInMode(), which returns why the run ended.
 *  Thread: runs the calling thread's loop.  Re-entrancy: a run in a callback is nested.
 *  Errors: errno 0 if the mode is empty; ENOMEM, EMFILE or ENFILE, and a line to the error handler, if it fails. */
RL_EXPORT void RLRunLoopRun(void);

/** Runs the calling thread's loop in one mode until its time limit, or sooner: see "One run, step by step".
 *  With returnAfterSourceHandled the run ends with the first pass that handles a source: at most one version-0 source,
 *  that of the lowest order, and in step 9 at most one version-1 source. Others stay signalled or ready for the next
 *  run. Timers and functions do not count. A run in an empty mode returns Finished and notifies no observers.
 *  @param mode     not kRLRunLoopCommonModes.
 *  @param seconds  time limit, in seconds of the monotonic clock (setting the wall clock does not matter). 0 or
 *                  negative: one pass without sleeping: all signalled sources, then all due timers or one ready
 *                  descriptor. HUGE_VAL or 1e10 and more: no limit. The last pass is completed, however long it takes.
 *  @param returnAfterSourceHandled  1: return after a pass in which a source was handled. 0: continue.
 *  @return HandledSource, TimedOut, Stopped or Finished (kRLRunLoopRun…): the first that applies, in this order.
 *  Thread: runs the calling thread's loop.
 *  Re-entrancy: may be nested, also in the same mode. Nested runs skip a timer or observer whose callback is running.
 *  Errors: misuse returns Finished; NaN is reported and taken as 0, and errno is then undefined. Finished has errno 0
 *  if the mode is empty, EINVAL after misuse, and ENOMEM, EMFILE or ENFILE if the loop could not run: try again later.
 *  Cost: a system call to sleep. */
RL_EXPORT RLRunLoopRunResult RLRunLoopRunInMode(RLRunLoopMode mode, RLTimeInterval seconds,
                                                RLBoolean returnAfterSourceHandled);

/** Implements CFRunLoopRun(): RLRunLoopRun() with the difference of RLRunLoopRunInModeAsCF().
 *  Thread: runs the calling thread's loop. */
RL_EXPORT void RLRunLoopRunAsCF(void);

/** Implements CFRunLoopRunInMode(): RLRunLoopRunInMode(), but common modes of the main thread's loop are never empty.
 *  They can be empty only in runs nested in a callback of libdispatch's main queue. One program may use both functions,
 *  also nested. Parameters and result as RLRunLoopRunInMode().  Thread: runs the calling thread's loop. */
RL_EXPORT RLRunLoopRunResult RLRunLoopRunInModeAsCF(RLRunLoopMode mode, RLTimeInterval seconds,
                                                    RLBoolean returnAfterSourceHandled);

/** Returns whether a loop is sleeping, in step 7. Read from another thread, the result may already be out of date.
 *  Always 0 in callbacks of the loop, and after its thread has exited.  Thread: any; async-signal-safe. */
RL_EXPORT RLBoolean RLRunLoopIsWaiting(RLRunLoopRef rl);

/** Wakes a loop: it makes a pass before it sleeps again. The run does not end.
 *  Needed after RLRunLoopSourceSignal() and RLRunLoopPerformFunction(). A wake-up of a loop that is awake is not lost;
 *  several count as one. It has no effect on a loop that is not running, whose next run makes a first pass anyway.
 *  Thread: any; async-signal-safe.  Cost: one system call if the loop sleeps. */
RL_EXPORT void RLRunLoopWakeUp(RLRunLoopRef rl);

/** Ends the innermost run of a loop, and wakes the loop: the run ends with the current pass, which does not sleep
 *  again. The result is Stopped unless HandledSource or TimedOut applies first. Has no effect on a loop that is not
 *  running: to stop a thread that may not run its loop yet, post a function that calls it (RLRunLoopPostFunction()).
 *  Thread: any; async-signal-safe.  Cost: one system call if the loop sleeps. */
RL_EXPORT void RLRunLoopStop(RLRunLoopRef rl);

/** Makes a loop poll for wake-ups for a while before each sleep, but never past the next timer; from the next sleep on.
 *  A wake-up in that time costs no system call on either side, but the processor is busy, and descriptors are not
 *  watched. An interval longer than replies usually take is all gain, a shorter one all loss: see docs/PERFORMANCE.md.
 *  @param seconds  the longest time to poll, in seconds, such as 20e-6. More than 1 is taken as 1; a negative number is
 *                  misuse. 0, the default: do not poll. Ignored if all loops' threads are bound to one processor. */
RL_EXPORT void RLRunLoopSetSpinInterval(RLRunLoopRef rl, RLTimeInterval seconds);

/** Returns for how many seconds a loop polls for wake-ups before it sleeps, as set and clamped. */
RL_EXPORT RLTimeInterval RLRunLoopGetSpinInterval(RLRunLoopRef rl);

/** Returns whether a source, or an equal one (RLRunLoopSource.h, "Equality"), is in a mode or is a common item.
 *  Re-entrancy: calls equal and hash callbacks. */
RL_EXPORT RLBoolean RLRunLoopContainsSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/** Adds a source to a mode of a loop. A version-0 source also wakes a sleeping loop.
 *  A source that is already signalled or ready performs in the next pass.
 *  Re-entrancy: calls schedule (version 0) or getPort (version 1) on this thread, and equal and hash callbacks.
 *  Cost: may allocate; a system call to wake a sleeping loop, and one for a version-1 source. */
RL_EXPORT void RLRunLoopAddSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/** Removes a source, or one equal to it, from a mode of a loop. It stays valid and may be added again.
 *  A version-0 source that is removed by a callback of the pass in which it was about to perform still performs; one
 *  that is invalidated does not. As in CF, a sleeping loop is not woken even if this empties the mode.
 *  Re-entrancy: calls cancel (version 0), equal and hash, on this thread.  Cost: may allocate; one system call. */
RL_EXPORT void RLRunLoopRemoveSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/** Returns whether an observer is in a mode; with kRLRunLoopCommonModes, whether it is a common item. */
RL_EXPORT RLBoolean RLRunLoopContainsObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/** Adds an observer to a mode of a loop. It is notified of the activities that follow; a sleeping loop is not woken.
 *  Cost: O(modes and observers of the loop), may allocate. */
RL_EXPORT void RLRunLoopAddObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/** Removes an observer from a mode of a loop. It stays valid and may be added again, also to another loop.
 *  Cost: O(modes and observers of the loop), may allocate. */
RL_EXPORT void RLRunLoopRemoveObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/** Returns whether a timer is in a mode of this loop; with kRLRunLoopCommonModes, whether it is a common item. */
RL_EXPORT RLBoolean RLRunLoopContainsTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

/** Adds a timer to a mode of a loop. The loop is woken if it must now wake earlier.
 *  Cost: O(log timers), may allocate; a system call to wake a sleeping loop. */
RL_EXPORT void RLRunLoopAddTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

/** Removes a timer from a mode of a loop. It stays valid and may be added again, also to another loop.
 *  As in CF, a sleeping loop is not woken even if this empties the mode.  Cost: O(log timers), may allocate. */
RL_EXPORT void RLRunLoopRemoveTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

RL_EXTERN_C_END
#endif
