/** @file RLStallWatch.h
 *  Stalls and explanations: which callback keeps a loop too long, and what loops do, in words.
 *  Example: examples/stalls.c
 *
 *  These functions are in librunloop-trace.so, which the command `runloop` preloads; a program that calls them itself
 *  is linked with it (pkg-config runloop-trace). Nothing happens before one of them is called, or a program is started
 *  with one of these variables in its environment, as `runloop run` does (not a program with more rights than its
 *  caller, which obeys none):
 *
 *      RUNLOOP_EXPLAIN=1            `runloop explain PID` is answered
 *      RUNLOOP_EXPLAIN_SIGNAL=USR2  this signal writes explanations of all loops to stderr
 *      RUNLOOP_STALL=0.25           callbacks that last longer are named on stderr; 0.25,abort: and the process aborts
 *      RUNLOOP_STALL_SIGNAL=USR1    this signal may be sent to a stalled thread, for a backtrace
 *
 *  What it does to a process
 *  -------------------------
 *  - It sets the probe (RLRunLoopProbe.h), which then costs some 100 ns for each callback and for each sleep. A probe
 *    that the program sets afterwards ends everything here.
 *  - From the first callback or sleep on there is one thread, `runloop-inspect`, with all signals blocked. It has no
 *    descriptors, except for moments in which it reads what it is asked for: the program may close all that it does
 *    not know. `runloop explain` asks it by 1 MB of shared memory, for processes of the same user.
 *    It sleeps unless it is asked something, or stalls are watched for: then it looks four times in each span of time
 *    that counts as a stall. A process whose other threads have ended ends, as it would without.
 *  - A process with two threads cannot enter another user or time namespace: unshare(2) and setns(2) fail with EINVAL.
 *  - The child of a fork() has a thread of its own once it calls or sleeps in a loop; exec*() starts anew.
 *
 *  Not seen: what contexts are called for (retain, release, schedule, cancel, …), code outside of callbacks, and what
 *  is called within more than 31 other callbacks. */
#ifndef RUNLOOPTRACE_RLSTALLWATCH_H
#define RUNLOOPTRACE_RLSTALLWATCH_H
#include <RunLoop/RunLoop.h>
RL_EXTERN_C_BEGIN

/** A callback that lasts longer than it should. Texts are valid during the call. */
typedef struct RLStall {
    RLIndex version;          /**< 0. */
    int thread;               /**< The thread, as gettid(2) returns it. */
    uint32_t kind;            /**< What is being called: kRLRunLoopProbeTimer, … */
    const void *object;       /**< The object, as a probe is told of it; it may be gone by now. */
    void (*function)(void);   /**< The function, whatever its type. */
    const void *info;         /**< Its info. */
    const char *functionName; /**< Its name, also of static functions unless they were stripped; otherwise NULL. */
    RLTimeInterval seconds;   /**< How long it has been running or blocked: see RLStallWatchStart(). */
    const char *text;         /**< All of this and the thread's system call in a line; a backtrace in further lines. */
} RLStall;

/** Called once for each callback that stalls, on the companion's thread, while the callback is still running.
 *  @param stall  what is known.
 *  @param info   what was passed to RLStallWatchStart(). */
typedef void (*RLStallCallBack)(const RLStall *stall, void *info);

/** Begins to look for callbacks that last longer than a time, in all loops.
 *  A callback that runs its loop stalls only while it does not sleep and calls nothing. Not counted: time in which the
 *  process or the thread is stopped (SIGSTOP, a debugger), or the machine suspended; nor time in which the thread waits
 *  for a processor that others have, of which the text says how much it was. A second call replaces the first.
 *  @param seconds  how many seconds a callback may last, at least 0.001.
 *  @param callout  called for each stall; NULL: a line on stderr.
 *  @param info     passed to callout; may be NULL. Must be valid until RLStallWatchStop() has returned.
 *  @return 1, or 0 if the time is not a number from 0.001 on, or no thread can be made.
 *  Ownership: info is not retained.
 *  Errors: 0 with errno EINVAL, or what the system says.  Cost: starts the thread. */
RL_EXPORT RLBoolean RLStallWatchStart(RLTimeInterval seconds, RLStallCallBack callout, void *info);

/** Ends RLStallWatchStart(). The callback is not called any more when this returns, unless this is called within it.
 *  Cost: waits for a callback that is running. */
RL_EXPORT void RLStallWatchStop(void);

/** Allows that a signal is sent to a stalled thread, whose handler notes where the thread is: stalls get a backtrace.
 *  The signal interrupts system calls that do not go on by themselves, such as nanosleep(2). None is sent once the
 *  program has set another handler for it, or none.
 *  @param number  a signal that the program does not use otherwise; 0: none, from now on.
 *  @return 1, or 0 if there can be no handler for it.
 *  Errors: 0 with errno EINVAL.  Cost: a system call; the first call loads the unwinder. */
RL_EXPORT RLBoolean RLStallWatchSetSignal(int number);

/** Makes the process answer `runloop explain`, and perhaps a signal.
 *  @param number  0, or a signal that writes explanations of all loops to stderr: `kill -USR2 PID`.
 *  @return 1, or 0 if there can be no handler, or no thread.
 *  Errors: 0 with errno EINVAL, or what the system says. A line on stderr if there is no shared memory.
 *  Cost: starts the thread. */
RL_EXPORT RLBoolean RLExplainStart(int number);

/** Describes in plain words what a loop does: in which callback it is and since when, or in which mode it sleeps and
 *  until when; what keeps its mode from being empty; why it does not sleep, if it does not; what woke it last.
 *  Known is what has happened since the first call of a function of this header. The words may change in any version.
 *  @param rl  a loop, also of another thread, and while it is stuck.
 *  @return a paragraph in lines of 100 columns, or NULL.
 *  Cost: O(items); reads files below /proc, and symbols. */
RL_EXPORT RLStringRef RLRunLoopCopyExplanation(RLRunLoopRef rl);

RL_EXTERN_C_END
#endif
