/** @file RLRunLoop.h
 *  Run loops: a thread waits here for events and handles them one after the other.
 *
 *  Every thread has one run loop. It is made when the thread first asks for it, with RLRunLoopGetCurrent(), and it
 *  works only while the thread is inside RLRunLoopRun() or RLRunLoopRunInMode(). Sources (RLRunLoopSource.h), timers
 *  (RLRunLoopTimer.h) and functions sent from anywhere (RLRunLoopPerform.h) give it work; observers
 *  (RLRunLoopObserver.h) watch it. All of them are called on the loop's thread, inside the run.
 *
 *  Modes
 *  -----
 *  Sources, timers and observers are added to a mode of a loop, and a run names the mode that it serves; items of other
 *  modes wait. A mode is a string, and comes into being when something is added to it. A mode without sources, timers
 *  and queued functions is empty, and a run of it ends at once; observers alone do not keep a mode running.
 *  kRLRunLoopCommonModes is not a mode but a set of them. Adding an item to it adds the item to every mode of the set,
 *  also to those that RLRunLoopAddCommonMode() brings in later. At the start the set holds the default mode.
 *
 *  A run whose mode becomes empty ends at the end of the pass. If another thread empties it while the loop sleeps, the
 *  run ends at once, provided that the last item was invalidated, or the last function cancelled. Removing an item from
 *  another thread does not end a sleep: it may be on its way to another mode. Call RLRunLoopWakeUp() if it is not.
 *  Releasing an item changes nothing, because the loop retains what is in its modes.
 *
 *  One run, step by step
 *  ---------------------
 *   1. Observers are told Entry.
 *   2. Observers are told BeforeTimers.
 *   3. Observers are told BeforeSources.
 *   4. Queued functions run. Signalled version-0 sources perform, lowest order first; if one did, functions run again.
 *   5. If a version-1 source is ready, go to step 9.
 *   6. Observers are told BeforeWaiting.
 *   7. The thread sleeps until a version-1 source is ready, a timer is due, the run's time is over, or the loop is
 *      woken.
 *   8. Observers are told AfterWaiting.
 *   9. What is pending is delivered: all due timers, or the ready version-1 source, and queued functions. Then the run
 *      ends with the first result that applies: HandledSource (if asked for), TimedOut, Stopped, Finished; or it goes
 *      on with step 2.
 *  10. Observers are told Exit.
 *  A run without time (0 seconds) only looks and does not sleep; nor does a pass in which a version-0 source performed
 *  in step 4. Steps 6 and 8 are then left out.
 *  Observers of one activity are called by ascending order, those of one order as they came into the mode.
 *
 *  Fairness
 *  --------
 *  If n things are ready in a mode (descriptors of any kind, signalled sources, due timers, queued functions), each is
 *  served within a bounded number of passes, whatever else happens, and however the run is made:
 *   - A pass fires all timers that are due when it comes to them.
 *   - A pass calls the functions that were queued when it came to them. After a millisecond the rest of a long queue
 *     waits for the next pass, unless the run has only one.
 *   - A pass performs all signalled version-0 sources, or the first if the run returns after a source: the lowest
 *     order first, equal orders by the time of their first signal. As in CFRunLoop, a lower order always goes first: in
 *     such runs a source that signals itself each time keeps those of a higher order waiting.
 *   - A pass serves one descriptor. Descriptors that stay ready take turns, also with timers that are always due. In
 *     each round the lowest order goes first, of sockets and descriptor objects: version-1 sources only store theirs.
 *     A loop that is woken all the time and never sleeps asks the kernel for ready descriptors in every eighth pass at
 *     least, and once in a tenth of a millisecond. So of n ready descriptors each is served within 32 * (n + 1)
 *     passes, and as a rule within n.
 *
 *  Life of a loop
 *  --------------
 *  The loop is destroyed when its thread exits: version-0 sources get cancel, all items are released, queued functions
 *  are dropped and their release functions run, on the dying thread. Waiting calls from other threads end with ESRCH.
 *  A loop that somebody retained stays valid memory; functions on it do nothing. Items stay valid objects, in no loop.
 *  After fork() the child may go on with the forking thread's loop: it gets kernel objects of its own, and the parent's
 *  are not touched. The loops of the other threads are gone with them.
 *
 *  Linux
 *  -----
 *  A loop uses no descriptor before it watches one, then at most two, and never a thread. It sleeps in a futex or in
 *  epoll. Waking a loop costs a system call only if it sleeps. Calls on a loop and its items from the loop's own thread
 *  use no locked instruction (if the kernel has membarrier); calls from other threads pay one (about a microsecond),
 *  except WakeUp, Stop, Signal and the tests beside them, which are a few atomic steps. Signals that interrupt the
 *  sleep do not end it. While a run sleeps for a timer, the thread's timer slack is 1 ns; the thread gets
 *  its own back when its outermost run ends.
 *
 *  Deliberate differences from CFRunLoop (on Linux, as in the Swift toolchain)
 *  -----------------------------------------------------------------------
 *  The numbers are the same in all headers.
 *   0. Step 5: a version-1 source that is ready is handled at once. CF tells BeforeWaiting and AfterWaiting first. So a
 *      pass in which a version-1 source is ready tells neither, and while one stays ready no pass does. Work that must
 *      be done in every pass, such as committing a transaction or draining a pool, belongs in BeforeTimers and Exit;
 *      idle work, which may wait until nothing is ready, in BeforeWaiting.
 *   1. The main thread's loop can be empty, in every mode: Finished. CF's never is in a common mode, because of the
 *      libdispatch main queue: TimedOut, or no return. Runs that are begun by CF's names do as CF, with and without
 *      libdispatch: RLRunLoopRunInModeAsCF().
 *   2. The descriptor of a version-1 source is level-triggered and never read by the loop. CF reads 8 bytes of it and
 *      tells it only once; of two sources on one descriptor only the last performs.
 *   3. Adding a version-0 source from another thread wakes a sleeping loop. CF does not.
 *   4. Tolerances work: see RLRunLoopTimer.h. CF ignores them and reads 0.
 *   5. fork() is fine. In CF the child hangs.
 *   6. Out of descriptors or memory is a return value with errno. CF aborts.
 *   7. There is no hidden thread. CF starts one for every timed run, and one behind all sockets, which reads and
 *      accepts ahead.
 *   8. WakeUp, Stop and Signal are async-signal-safe. In CF they take locks and may deadlock in a signal handler.
 *   9. A socket tells the end of its stream once, and an error to who waits to write. CF calls back in every pass, and
 *      tells that nobody. RLSocket.h has this and 12 to 14.
 *  10. A run ends when another thread invalidates the last item of its mode. CF sleeps on.
 *  11. A wake-up that a nested run has used up is given on to the outer run, which passes once more. In CF the outer
 *      run sleeps on.
 *  12. Sending on a socket never raises SIGPIPE, and sends all or fails. CF may end the process, or send a part. A
 *      socket that is given an address to listen on may reuse it at once. In CF that takes a minute.
 *  13. A socket's callbacks wait for the connection. CF makes them at once if the source was added before.
 *  14. A socket callback that is disabled while it runs stays disabled. CF accepts on.
 *  15. Timers that are due are called in the order of their dates, those of one date as they were added. CF: those
 *      whose dates were past when they were set, in the order in which that was done; equal dates otherwise in any.
 *  16. After a pass in which a source performed the loop looks again before it sleeps. CF does not if the last of the
 *      signalled sources was not due any more, though one may have been signalled meanwhile.
 *  17. RLAutorelease() releases at the end of the pass, as CFAutorelease does on a Mac. CF on Linux never releases. */
#ifndef RUNLOOP_RLRUNLOOP_H
#define RUNLOOP_RLRUNLOOP_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLBase.h>
#include <RunLoop/RLString.h>
RL_EXTERN_C_BEGIN

/** The name of a mode. Modes are the same if their names have the same bytes. */
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
/** The results of RLRunLoopRunInMode(). If several apply: the first of HandledSource, TimedOut, Stopped, Finished. */
enum {
    kRLRunLoopRunFinished = 1,     /**< The mode is empty: no source, timer or queued function; or see errno. */
    kRLRunLoopRunStopped = 2,      /**< RLRunLoopStop() was called. */
    kRLRunLoopRunTimedOut = 3,     /**< The time is over. */
    kRLRunLoopRunHandledSource = 4 /**< A source was handled, and the caller had asked to return then. */
};

/** The mode for most work. It always exists and is in the common set. */
RL_EXPORT const RLRunLoopMode kRLRunLoopDefaultMode;
/** Stands for all common modes. For adding, removing and containing items, and for queued functions; not for a run. */
RL_EXPORT const RLRunLoopMode kRLRunLoopCommonModes;
/** An ordinary mode, by Cocoa's convention for waiting for the reply of a connection. The library does not use it. */
RL_EXPORT const RLRunLoopMode kRLRunLoopConnectionReplyMode;
/** An ordinary mode, by Cocoa's convention for modal panels. The library does not use it. */
RL_EXPORT const RLRunLoopMode kRLRunLoopModalPanelMode;
/** An ordinary mode, by Cocoa's convention for following the mouse. The library does not use it. */
RL_EXPORT const RLRunLoopMode kRLRunLoopEventTrackingMode;

/** Tells the kind of run loops, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLRunLoopGetTypeID(void);

/* ---- Getting a loop ---- */

/** Gives the calling thread's loop, and makes it if this is the first call of the thread.
 *  Give it to other threads that shall send work here; they should retain it, as it dies with this thread.
 *  @return the loop, or NULL.
 *  Ownership: Get rule; valid until the thread exits, longer if retained.
 *  Thread: any; not async-signal-safe: the first call allocates.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM.
 *  Cost: one thread-local read; the first call of a thread allocates.  Since: 0.1.
 *  Example: examples/loop-observer.c */
RL_EXPORT RLRunLoopRef RLRunLoopGetCurrent(void);

/** Gives the loop of the process's initial thread, from any thread.
 *  In the child of a fork() it is the loop of the thread that forked. The loop runs only if that thread runs it.
 *  @return the loop, or NULL.
 *  Ownership: Get rule; valid until the initial thread exits, longer if retained.  Thread: any.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL with errno ENOMEM.
 *  Cost: O(1); the first call may allocate.  Since: 0.1.  Example: examples/custom-source/main.c */
RL_EXPORT RLRunLoopRef RLRunLoopGetMain(void);

/* ---- Modes ---- */

/** Tells in which mode a loop runs now: that of the innermost run.
 *  @param rl  not NULL.
 *  @return the mode, or NULL if the loop does not run. From another thread it may be out of date when you read it.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no system call on the loop's thread.  Since: 0.1.  Example: examples/modes.c */
RL_EXPORT RLRunLoopMode RLRunLoopCopyCurrentMode(RLRunLoopRef rl);

/** Lists the modes of a loop: the default mode, and those to which something was added.
 *  @param rl  not NULL.
 *  @return an array of RLRunLoopMode in no particular order, or NULL. kRLRunLoopCommonModes is not in it.
 *  Ownership: Create rule; the array retains the names.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(modes), allocates.  Since: 0.1.  Example: examples/modes.c */
RL_EXPORT RLArrayRef RLRunLoopCopyAllModes(RLRunLoopRef rl);

/** Adds a mode to the common set of a loop, and all common items to that mode. There is no way back.
 *  Sources among the items get schedule for the mode. A mode that is in the set already stays as it is.
 *  @param rl    not NULL.
 *  @param mode  not NULL and not kRLRunLoopCommonModes.
 *  Ownership: mode is retained.  Thread: any.  Re-entrancy: allowed in callbacks; calls schedule callbacks.
 *  Errors: NULL, another kind of object or kRLRunLoopCommonModes is reported, and nothing is done; errno ENOMEM: the
 *  mode is not added.
 *  Cost: O(common items), may allocate.  Since: 0.1.  Example: examples/modes.c */
RL_EXPORT void RLRunLoopAddCommonMode(RLRunLoopRef rl, RLRunLoopMode mode);

/** Tells when the next timer of a mode is due, without its tolerance.
 *  @param rl    not NULL.
 *  @param mode  not NULL.
 *  @return the earliest fire date in the mode; 0.0 if the mode has no timer. It may lie in the past.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.0.
 *  Cost: O(1) after finding the mode.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLAbsoluteTime RLRunLoopGetNextTimerFireDate(RLRunLoopRef rl, RLRunLoopMode mode);

/* ---- Running ---- */

/** Runs the calling thread's loop in the default mode until it is stopped or the mode is empty.
 *  Returns at once if nothing was added. Prefer RLRunLoopRunInMode() in a loop of your own: it tells why it ended.
 *  Ownership: none.  Thread: runs the calling thread's loop.
 *  Re-entrancy: allowed in callbacks: a nested run; RLRunLoopStop() ends only the innermost.
 *  Errors: returns at once with errno ENOMEM, EMFILE or ENFILE if the loop cannot be set up, and says so in one line to
 *  the error handler. errno is 0 when it returns because the mode is empty.
 *  Cost: see "Linux" above; an idle loop costs nothing.  Since: 0.1.  Example: examples/hello.c */
RL_EXPORT void RLRunLoopRun(void);

/** Runs the calling thread's loop in one mode until its time is over, or sooner: see "One run, step by step".
 *  With returnAfterSourceHandled the run ends with the first pass in which a source was handled. Such a pass handles
 *  one or two: at most one version-0 source, that of the lowest order, and in step 9 at most one version-1 source.
 *  Others that are signalled or ready stay so for the next run. Timers and queued functions do not count as a source.
 *  A run in an empty mode returns Finished without calling any observer. Removing the last source or timer ends the run
 *  after the callback that did it; for what another thread does see "Modes".
 *  @param mode     not NULL and not kRLRunLoopCommonModes.
 *  @param seconds  how long, on the monotonic clock: setting the wall clock does not matter. 0 or negative: one pass,
 *                  without sleeping, which runs everything that is ready. HUGE_VAL or 1e10 and more: for ever. The pass
 *                  in which the time is over is finished: a slow callback delays the return.
 *  @param returnAfterSourceHandled  1: return after a pass in which a source was handled. 0: go on.
 *  @return kRLRunLoopRunHandledSource, kRLRunLoopRunTimedOut, kRLRunLoopRunStopped or kRLRunLoopRunFinished: the first
 *  that applies, in this order.
 *  Ownership: mode is retained during the run.  Thread: runs the calling thread's loop.
 *  Re-entrancy: allowed in callbacks, also in the same mode. A timer or observer whose callback runs is skipped by runs
 *  nested in it; a source is not.
 *  Errors: a mode that is NULL, no string or kRLRunLoopCommonModes is reported and gives Finished; NaN is reported and
 *  treated as 0. Finished has errno 0 if the mode is empty; ENOMEM, EMFILE or ENFILE if the loop could not be set up,
 *  so that nothing was run: try again later; EINVAL after a mistake. Other results leave errno unspecified.
 *  Cost: a pass costs no system call while there is work of this process only; sleeping costs one.  Since: 0.1.
 *  Example: examples/loop-thread.c */
RL_EXPORT RLRunLoopRunResult RLRunLoopRunInMode(RLRunLoopMode mode, RLTimeInterval seconds,
                                                RLBoolean returnAfterSourceHandled);

/** Runs the calling thread's loop in the default mode as CFRunLoopRun() does, which is this function.
 *  As RLRunLoopRun(), with the difference of RLRunLoopRunInModeAsCF(): in the main thread it returns only when stopped.
 *  Ownership: none.  Thread: runs the calling thread's loop.  Re-entrancy: as RLRunLoopRun().
 *  Errors: as RLRunLoopRun().  Cost: as RLRunLoopRun().  Since: 0.1.  Example: examples/main-loop.c */
RL_EXPORT void RLRunLoopRunAsCF(void);

/** Runs the calling thread's loop in one mode as CFRunLoopRunInMode() does, which is this function.
 *  A common mode of the main thread's loop counts as never empty: without any source, timer or queued function the run
 *  sleeps until it is stopped or its time is over, so that other threads can add items, post functions and stop it.
 *  Only runs that are nested in a callback of libdispatch's main queue return Finished. Everything else is as with
 *  RLRunLoopRunInMode(): the other threads' loops, and modes of the main loop that are not common, can be empty.
 *  Each run goes by the name that began it: one program may use both names, one nested in the other.
 *  @param mode     not NULL and not kRLRunLoopCommonModes.
 *  @param seconds  how long, as with RLRunLoopRunInMode().
 *  @param returnAfterSourceHandled  1: return after a pass in which a source was handled. 0: go on.
 *  @return as RLRunLoopRunInMode().
 *  Ownership: mode is retained during the run.  Thread: runs the calling thread's loop.
 *  Re-entrancy: as RLRunLoopRunInMode().  Errors: as RLRunLoopRunInMode().  Cost: as RLRunLoopRunInMode().
 *  Since: 0.1.  Example: examples/main-loop.c */
RL_EXPORT RLRunLoopRunResult RLRunLoopRunInModeAsCF(RLRunLoopMode mode, RLTimeInterval seconds,
                                                    RLBoolean returnAfterSourceHandled);

/** Tells whether a loop sleeps now, in step 7. From another thread it may be out of date when you read it.
 *  @param rl  not NULL.
 *  @return 1 if it sleeps; 0 if it works, does not run, or its thread has exited. Always 0 in callbacks of the loop.
 *  Ownership: none changes.  Thread: any; async-signal-safe.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: one atomic read.  Since: 0.1.  Example: examples/loop-thread.c */
RL_EXPORT RLBoolean RLRunLoopIsWaiting(RLRunLoopRef rl);

/** Wakes a loop: it makes a pass before it sleeps again. The run does not end by it.
 *  Needed after RLRunLoopSourceSignal() and RLRunLoopPerformFunction(). A wake-up between passes is remembered, several
 *  count as one. On a loop that does not run it is lost: the next run makes a first pass anyway.
 *  @param rl  not NULL.
 *  Ownership: none changes.  Thread: any; async-signal-safe: preserves errno, takes no lock, allocates nothing.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL or another kind of object is reported.
 *  Cost: one atomic step, and one system call if the loop sleeps.  Since: 0.1.
 *  Example: examples/custom-source/run-loop-source.c */
RL_EXPORT void RLRunLoopWakeUp(RLRunLoopRef rl);

/** Ends the innermost run of a loop, and wakes it: the run returns kRLRunLoopRunStopped when the callback or step that
 *  it is in is over, after Exit.
 *  On a loop that does not run it is lost. To stop a thread that may not have begun its run yet, post a function that
 *  calls it: RLRunLoopPostFunction().
 *  @param rl  not NULL.
 *  Ownership: none changes.  Thread: any; async-signal-safe: preserves errno, takes no lock, allocates nothing.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL or another kind of object is reported.
 *  Cost: as RLRunLoopWakeUp().  Since: 0.1.  Example: examples/loop-thread.c */
RL_EXPORT void RLRunLoopStop(RLRunLoopRef rl);

/** Lets a loop watch for wake-ups for a while before it sleeps.
 *  A wake-up in that time costs no system call on either side: answers take less than a microsecond instead of tens.
 *  The price is a busy processor. Descriptors are not watched in that time. It ends when a timer is due.
 *  Measured with two loops on a processor each (two virtual ones), microseconds for a round trip, and of processor time
 *  for each sleep:
 *      interval                                    0          5          20         50
 *      answers come at once                        12, 8      1.5, 1.6   1.6, 1.7   1.5, 1.6
 *      answers come after 10 of work               35, 21     34, 23     22, 22     22, 23
 *      woken a thousand times a second, one way    15, 15     15, 21     15, 36     17, 66
 *  So an interval above the time that answers take is all gain, and below it all loss: the default is 0, since only the
 *  program knows that time.
 *  @param rl       not NULL.
 *  @param seconds  how long at most, in seconds, so 20e-6 for the 20 of the table: 0 (the default) for not at all; more
 *                  than 1 is taken as 1.
 *  Ownership: none changes.  Thread: any; takes effect before the next sleep.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL, another kind of object, NaN or a negative number is reported, and nothing is changed. Where all
 *  threads are bound to one processor (looked at when a thread makes its loop) the value is stored and ignored.
 *  Cost: O(1), no system call.  Since: 0.1.  Example: examples/perform-on-thread.c */
RL_EXPORT void RLRunLoopSetSpinInterval(RLRunLoopRef rl, RLTimeInterval seconds);

/** Tells how long a loop watches for wake-ups before it sleeps.
 *  @param rl  not NULL.
 *  @return seconds, as set and clamped; 0 if never set or on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no system call.  Since: 0.1.  Example: examples/perform-on-thread.c */
RL_EXPORT RLTimeInterval RLRunLoopGetSpinInterval(RLRunLoopRef rl);

/* ---- Sources in a loop ---- */

/** Tells whether a source is in a mode of a loop.
 *  @param rl      not NULL.
 *  @param source  not NULL.
 *  @param mode    not NULL; kRLRunLoopCommonModes asks for the common set.
 *  @return 1 if it, or an equal one (RLRunLoopSource.h, "Equality"), is there; else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1) after finding the mode, no allocation.  Since: 0.1.  Example: examples/modes.c */
RL_EXPORT RLBoolean RLRunLoopContainsSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/** Adds a source to a mode of a loop. A sleeping loop takes notice: a version-0 source wakes it.
 *  A version-0 source gets schedule, on this thread, before the call returns; one that is signalled already performs in
 *  the next pass. A version-1 source is asked for its descriptor; one that is ready already performs. A source may be
 *  in several modes and loops. Adding it twice to one mode has no effect; nor has adding an invalid source.
 *  @param rl      not NULL.
 *  @param source  not NULL.
 *  @param mode    not NULL; made if it is unknown. kRLRunLoopCommonModes: every common mode.
 *  Ownership: source and mode are retained until the source is removed or invalidated, or the loop is destroyed.
 *  Thread: any.  Re-entrancy: allowed in callbacks; a source added in a callback takes part from the next pass on.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the source is not added.
 *  Cost: may allocate; no system call, but a wake-up if the loop sleeps, and for a version-1 source one before the loop
 *  looks at descriptors next.  Since: 0.1.  Example: examples/custom-source/run-loop-source.c */
RL_EXPORT void RLRunLoopAddSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/** Removes a source from a mode of a loop. A version-0 source gets cancel, on this thread, before the call returns.
 *  The source stays valid and may be added again. If it was removed by a callback of the batch in which it was about to
 *  perform, it still performs; invalidate it to prevent that. Removing what is not there has no effect.
 *  @param rl      not NULL.
 *  @param source  not NULL.
 *  @param mode    not NULL. kRLRunLoopCommonModes: the common set and every common mode.
 *  Ownership: the loop releases the source.  Thread: any; a sleeping loop is not woken, even if the mode is empty now,
 *  as in CFRunLoop.  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the source, which is in
 *  several modes, stays.
 *  Cost: O(1) after finding the mode; a version-1 source may cost one system call.  Since: 0.1.
 *  Example: examples/demo/reader.c */
RL_EXPORT void RLRunLoopRemoveSource(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode);

/* ---- Observers in a loop ---- */

/** Tells whether an observer is in a mode of a loop.
 *  @param rl        not NULL.
 *  @param observer  not NULL.
 *  @param mode      not NULL; kRLRunLoopCommonModes asks for the common set.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1) after finding the mode, no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLBoolean RLRunLoopContainsObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/** Adds an observer to a mode of a loop. It hears the activities that follow; a sleeping loop is not woken for it.
 *  While it is in one loop, adding it to another has no effect. Nor has adding it twice, or adding an invalid observer.
 *  @param rl        not NULL.
 *  @param observer  not NULL.
 *  @param mode      not NULL; made if it is unknown. kRLRunLoopCommonModes: every common mode.
 *  Ownership: observer and mode are retained until the observer is removed or invalid, or the loop is destroyed.
 *  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the observer is not added.
 *  Cost: may allocate; no system call.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT void RLRunLoopAddObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/** Removes an observer from a mode of a loop. It stays valid and may be added again, also to another loop.
 *  @param rl        not NULL.
 *  @param observer  not NULL. Removing what is not there has no effect.
 *  @param mode      not NULL. kRLRunLoopCommonModes: the common set and every common mode.
 *  Ownership: the loop releases the observer.  Thread: any.  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the observer, which is in
 *  several modes, stays.
 *  Cost: O(1) after finding the mode, no system call.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT void RLRunLoopRemoveObserver(RLRunLoopRef rl, RLRunLoopObserverRef observer, RLRunLoopMode mode);

/* ---- Timers in a loop ---- */

/** Tells whether a timer is in a mode of a loop.
 *  @param rl     not NULL.
 *  @param timer  not NULL.
 *  @param mode   not NULL; kRLRunLoopCommonModes asks for the common set.
 *  @return 1 if it is there, else 0; 0 for a timer of another loop.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1) after finding the mode, no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLBoolean RLRunLoopContainsTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

/** Adds a timer to a mode of a loop. A sleeping loop takes notice.
 *  A timer may be in several modes of one loop. While it is in one loop, adding it to another has no effect. Nor has
 *  adding it twice, or adding an invalid timer.
 *  @param rl     not NULL.
 *  @param timer  not NULL.
 *  @param mode   not NULL; made if it is unknown. kRLRunLoopCommonModes: every common mode.
 *  Ownership: timer and mode are retained until the timer is removed or invalid, or the loop is destroyed.
 *  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the timer is not added.
 *  Cost: O(log timers), may allocate; no system call, but a wake-up if the loop sleeps.  Since: 0.1.
 *  Example: examples/timers.c */
RL_EXPORT void RLRunLoopAddTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

/** Removes a timer from a mode of a loop. It stays valid and may be added again, also to another loop.
 *  @param rl     not NULL.
 *  @param timer  not NULL. Removing what is not there has no effect.
 *  @param mode   not NULL. kRLRunLoopCommonModes: the common set and every common mode.
 *  Ownership: the loop releases the timer.  Thread: any; a sleeping loop is not woken even if the mode is now empty, as
 *  in CFRunLoop.  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is done. errno ENOMEM: the timer, which is in
 *  several modes, stays.
 *  Cost: O(log timers), no system call.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT void RLRunLoopRemoveTimer(RLRunLoopRef rl, RLRunLoopTimerRef timer, RLRunLoopMode mode);

RL_EXTERN_C_END
#endif
