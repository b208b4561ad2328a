/** @file RLStallWatch.h
 *  Stalls and explanations: which callback blocks a loop for too long, and what loops are doing, in words.
 *  Example: examples/stalls.c
 *
 *  These functions are in librunloop-trace.so, which the command `runloop` preloads; a program that calls them itself
 *  is linked with it (pkg-config runloop-trace). The library does nothing unless one of them is called, or the program
 *  is started with one of these variables in its environment, as `runloop run` does. (A program with more rights than
 *  its caller ignores them.)
 *
 *      RUNLOOP_EXPLAIN=1            `runloop explain PID` is answered
 *      RUNLOOP_EXPLAIN_SIGNAL=USR2  this signal writes explanations of all loops to stderr
 *      RUNLOOP_STALL=0.25           callbacks that take longer are reported on stderr; 0.25,abort: the process aborts
 *      RUNLOOP_STALL_SIGNAL=USR1    this signal may be sent to a stalled thread, for a backtrace
 *
 *  What it does to a process
 *  -------------------------
 *  - It sets the probe (RLRunLoopProbe.h), which then costs about 100 ns for each callback and for each sleep. If the
 *    program sets a probe afterwards, everything here ends.
 *  - From the first callback or sleep on there is one additional thread, `runloop-inspect`, with all signals blocked.
 *    It has no descriptors, except at the moments when it reads what it needs to answer: the program may close all
 *    descriptors that it does not know. `runloop explain` communicates with it through 1 MB of shared memory, for
 *    processes of the same user. The thread sleeps unless it is asked something or watches for stalls; it then checks
 *    four times in each period that counts as a stall. A process whose other threads have ended ends, as it would
 *    without this thread.
 *  - A process with two threads cannot enter another user or time namespace: unshare(2) and setns(2) fail with EINVAL.
 *  - The child of a fork() has a thread of its own once it makes a callback or sleeps in a loop; exec*() starts anew.
 *
 *  Not seen: calls of context functions (retain, release, schedule, cancel, …), code outside of callbacks, and
 *  callbacks nested within more than 31 others. */
#ifndef RUNLOOPTRACE_RLSTALLWATCH_H
#define RUNLOOPTRACE_RLSTALLWATCH_H
#include <RunLoop/RunLoop.h>
RL_EXTERN_C_BEGIN

/** A callback that takes longer than it should. Texts are valid during the callback that receives this. */
typedef struct RLStall {
    RLIndex version;          /**< 0. */
    int thread;               /**< The thread, as gettid(2) returns it. */
    uint32_t kind;            /**< What is being called: kRLRunLoopProbeTimer, … */
    const void *object;       /**< The object, NULL for sources and functions; it may have been freed. */
    void (*function)(void);   /**< The function, whatever its type. */
    const void *info;         /**< The info of that function. */
    const char *functionName; /**< Its name, unless stripped (static functions included); otherwise NULL. */
    RLTimeInterval seconds;   /**< How long it has been running or blocked: see RLStallWatchStart(). */
    const char *text;         /**< One line with all of this and the thread's system call; then a backtrace. */
} RLStall;

/** Called once for each callback that stalls, on the thread `runloop-inspect`, while the stalled callback is still
 *  running.
 *  @param stall  the stall.
 *  @param info   the info passed to RLStallWatchStart(). */
typedef void (*RLStallCallBack)(const RLStall *stall, void *info);

/** Starts watching all loops for callbacks that take longer than a given time.
 *  A callback that runs its loop counts as stalled only while that loop neither sleeps nor calls anything. Time in
 *  which the process or the thread is stopped (SIGSTOP, a debugger), or the machine is suspended, does not count. Nor
 *  does time in which the thread waits for a CPU that others are using; the text says how much that was. A second call
 *  replaces the first.
 *  @param seconds  how many seconds a callback may take, at least 0.001.
 *  @param callout  called for each stall; NULL: a line is written to stderr.
 *  @param info     passed to callout; may be NULL. Must be valid until RLStallWatchStop() has returned.
 *  @return 1, or 0 if the time is not a number of at least 0.001, or no thread can be created.
 *  Ownership: info is not retained.
 *  Errors: 0 with errno EINVAL, or the error of a system call.  Cost: starts the thread. */
RL_EXPORT RLBoolean RLStallWatchStart(RLTimeInterval seconds, RLStallCallBack callout, void *info);

/** Stops watching for stalls. Once this has returned, the callback is not running and will not be called, unless this
 *  was called within the callback.
 *  Cost: waits for a callback that is running. */
RL_EXPORT void RLStallWatchStop(void);

/** Allows a signal to be sent to a stalled thread; its handler records where the thread is, so that stalls have a
 *  backtrace.
 *  The signal interrupts system calls that are not restarted automatically, such as nanosleep(2). It is no longer sent
 *  once the program has set another handler for it, or none.
 *  @param number  a signal that the program does not use otherwise; 0: none, from now on.
 *  @return 1, or 0 if no handler can be set for it.
 *  Errors: 0 with errno EINVAL.  Cost: a system call; the first call loads the unwinder. */
RL_EXPORT RLBoolean RLStallWatchSetSignal(int number);

/** Makes the process answer `runloop explain` and, optionally, a signal.
 *  @param number  0, or a signal that writes explanations of all loops to stderr: `kill -USR2 PID`.
 *  @return 1, or 0 if the handler cannot be set, or no thread can be created.
 *  Errors: 0 with errno EINVAL, or the error of a system call. If there is no shared memory, a line is written to
 *  stderr.
 *  Cost: starts the thread. */
RL_EXPORT RLBoolean RLExplainStart(int number);

/** Describes in plain words what a loop is doing: which callback it is in and since when, or in which mode it sleeps
 *  and until when; what keeps its mode from being empty; why it does not sleep, if it does not; and what woke it last.
 *  The text covers what has happened since the first call of a function of this header. The wording may change in any
 *  version.
 *  @param rl  a loop, which may be another thread's, and may be stuck.
 *  @return a paragraph in lines of 100 columns, or NULL.
 *  Cost: O(items); reads files below /proc, and symbols. */
RL_EXPORT RLStringRef RLRunLoopCopyExplanation(RLRunLoopRef rl);

RL_EXTERN_C_END
#endif
