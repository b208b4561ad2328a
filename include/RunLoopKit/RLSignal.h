/** @file RLSignal.h
 *  Signals: a callback on a loop after a signal was sent to the process.
 *  Examples: examples/signals.c
 *
 *  Create an object for a signal and add it to a mode of a loop:
 *
 *      RLSignalRef signal = RLSignalCreate(NULL, SIGTERM, 0, callout, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), signal, kRLRunLoopDefaultMode);
 *
 *  Unlike a handler of sigaction(2), the callback may do whatever any callback may do. It is called in the next pass of
 *  the loop, once for all signals of that number that have arrived in the meantime, and receives their count and what
 *  the kernel reported about the last one. The kernel itself keeps at most one pending signal of each number from 1
 *  to 31, and queues the others.
 *
 *  While the object is in a loop, the kit has a handler installed for its signal. The handler does not interrupt system
 *  calls that SA_RESTART can continue, changes no signal mask, takes no lock and allocates nothing. The default action
 *  of the signal (usually to end the process) is suppressed meanwhile. When the last object for a signal has left its
 *  last loop, the previous handler is reinstalled, unless yet another handler has been installed since: that one stays.
 *  Signals that an object has not delivered when it is removed are delivered if it is added again, as every source
 *  stays signalled.
 *
 *  Several owners
 *  --------------
 *  Any number of objects may have the same signal, in one loop or in many: each of them is called, those in one loop by
 *  `order`, like all sources. An object that is in several loops is called by the first loop that sees the signal.
 *  Handlers of the program stay in force: after it has notified the loops, the kit's handler calls the handler that was
 *  installed before, with the arguments from the kernel. So parts of a program that know nothing of each other can
 *  share a signal. A handler that is installed later, while an object is in a loop, replaces the kit's handler: it must
 *  call the previous one, as the kit's does.
 *
 *  Some signals are refused, with a line that says why: SIGKILL and SIGSTOP, which cannot be caught; SIGSEGV, SIGBUS,
 *  SIGFPE, SIGILL, SIGTRAP, SIGSYS and SIGABRT, since the instruction that raised them would be executed again, or the
 *  process ends anyway; SIGCHLD, as several signals of that kind become one (RLChild.h watches a child without it); and
 *  those that the C library reserves for itself (32 and 33).
 *
 *  Threads, fork
 *  -------------
 *  The kernel chooses the thread that is interrupted, from those that do not block the signal; the callback runs on the
 *  loop's thread. A signal that all threads block is not seen: use signalfd(2) (examples/signalfd.c) for such signals.
 *  In the child of a fork() the objects of the forking thread continue to work with its loop, and signals that the
 *  parent has not handled yet may be handled by both. The loops of other threads are gone: the signals of objects that
 *  are only in such loops are caught, so that SIGTERM does not end the child, but nothing is called, until the object
 *  is added to a loop of the child, or invalidated. exec*() resets caught signals to their default action. */
#ifndef RUNLOOPKIT_RLSIGNAL_H
#define RUNLOOPKIT_RLSIGNAL_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A signal that is watched: a run loop source. */
typedef RLRunLoopSourceRef RLSignalRef;

/** Information about signals, passed to the callback. */
typedef struct RLSignalInfo {
    int number;          /**< The signal. */
    RLIndex count;       /**< How many have arrived since the last call, at least 1. */
    int code;            /**< si_code of the last one: SI_USER for kill(), SI_QUEUE for sigqueue(), SI_KERNEL, … */
    int process;         /**< The process that sent the last one; 0 if no process did. */
    uint32_t user;       /**< The real user of that process. */
    intptr_t value;      /**< The value that sigqueue() or a POSIX timer sent with the last one, as a number; or 0. */
    const void *siginfo; /**< All that the kernel reported of the last one: a siginfo_t, valid during the callback. */
} RLSignalInfo;

/** Called on the loop's thread after signals have arrived. It may invalidate and release the object, and run the loop.
 *  @param signal       the object.
 *  @param information  the number of signals, and details of the last one; valid during the callback.
 *  @param info         the object's info. */
typedef void (*RLSignalCallBack)(RLSignalRef signal, const RLSignalInfo *information, void *info);

/** The info of a signal object and the functions that manage it. Every pointer may be NULL. */
typedef struct RLSignalContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLSignalContext;

/** Creates an object for a signal. The object has no effect before it is added to a loop: RLRunLoopAddSource().
 *  @param number   the signal, such as SIGTERM.
 *  @param order    of the signalled sources in a pass, the lowest order is called first.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: a signal that cannot be watched is misuse; the line says why.
 *  Cost: two allocations in addition to the source. The first object for a signal also allocates less than a kilobyte
 *  that stays until the process ends. Adding an object to its first loop: two system calls. A signal: O(objects and
 *  their loops), and a system call for each of their loops that sleeps. */
RL_EXPORT RLSignalRef RLSignalCreate(RLAllocatorRef allocator, int number, RLIndex order, RLSignalCallBack callout,
                                     const RLSignalContext *context);

/** Returns the number of an object's signal.
 *  @param signal  the object, which may be invalid. */
RL_EXPORT int RLSignalGetNumber(RLSignalRef signal);

RL_EXTERN_C_END
#endif
