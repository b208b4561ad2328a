/** @file RLSignal.h
 *  Signals: a function is called on a loop after the process was sent a signal.
 *  Examples: examples/signals.c
 *
 *  Create one for a signal and add it to a mode of a loop:
 *
 *      RLSignalRef signal = RLSignalCreate(NULL, SIGTERM, 0, callout, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), signal, kRLRunLoopDefaultMode);
 *
 *  Unlike a handler of sigaction(2), the function may do whatever a callback may do. It is called in the next pass of
 *  the loop, once for all signals of that number that have come since, and is told how many they were and what the
 *  kernel said of the last. The kernel itself counts the signals 1 to 31 only once while they are pending, and queues
 *  the others.
 *
 *  While the object is in a loop, the kit has a handler for its signal. It interrupts no system call that SA_RESTART
 *  can continue, changes no signal mask, takes no lock and allocates nothing. What the signal did by default (end the
 *  process, as a rule) is not done meanwhile. When the last object of a signal has left its last loop, what was
 *  installed before is installed again, unless another handler is in force by then: that stays. Signals of which the
 *  object has not told yet when it leaves are told of if it is added again, as every source stays signalled.
 *
 *  Several owners
 *  --------------
 *  Any number of objects may have one signal, in one loop or in many: each is called, those in one loop by `order` as
 *  all sources. An object that is in several loops is called by the first that sees the signal. Handlers of the
 *  program stay in force: the kit's handler calls the one that was installed before, with what the kernel has handed
 *  over, after it has told the loops. Two programs' parts that know nothing of each other can so share a signal. A
 *  handler that is installed later, while an object is in a loop, replaces the kit's: it has to call the one before,
 *  as the kit does.
 *
 *  Refused, with a line that says why: SIGKILL and SIGSTOP, which cannot be caught; SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 *  SIGTRAP, SIGSYS and SIGABRT, since the instruction that raised them would be executed again, or the process ends
 *  anyway; SIGCHLD, as several signals of one kind become one: RLChild.h watches a child without it; and those that
 *  the C library keeps to itself (32 and 33).
 *
 *  Threads, fork
 *  -------------
 *  The kernel chooses the thread that is interrupted, of those that do not block the signal; the callback runs on the
 *  loop's. A signal that all threads block is not seen: use signalfd(2) (examples/signalfd.c) for these. In the child
 *  of a fork() the objects of the thread that forked go on with its loop, and signals that the parent has not handled
 *  yet may be handled by both. exec*() sets what is caught to its default. */
#ifndef RUNLOOPKIT_RLSIGNAL_H
#define RUNLOOPKIT_RLSIGNAL_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A signal that is watched: a run loop source. */
typedef RLRunLoopSourceRef RLSignalRef;

/** What is told of signals. */
typedef struct RLSignalInfo {
    int number;          /**< The signal. */
    RLIndex count;       /**< How many have come since the last call, at least 1. */
    int code;            /**< si_code of the last one: SI_USER for kill(), SI_QUEUE for sigqueue(), SI_KERNEL, … */
    int process;         /**< The process that sent the last one; 0 if none did. */
    uint32_t user;       /**< The real user of that process. */
    intptr_t value;      /**< What sigqueue() or a POSIX timer has sent with the last one, as a number; 0 if nothing. */
    const void *siginfo; /**< All that the kernel said of the last one: a siginfo_t, valid during the call. */
} RLSignalInfo;

/** Called on the loop's thread after signals have come. May invalidate and release the object, and run the loop.
 *  @param signal       the object.
 *  @param information  how many signals have come, and what is known of the last; valid during the call.
 *  @param info         the context's. */
typedef void (*RLSignalCallBack)(RLSignalRef signal, const RLSignalInfo *information, void *info);

/** What is passed to the function. Every pointer may be NULL. */
typedef struct RLSignalContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLSignalContext;

/** Creates an object for a signal. It has no effect before it is added to a loop: RLRunLoopAddSource().
 *  @param number   the signal, such as SIGTERM.
 *  @param order    among the signalled sources of a pass the lowest is called first.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: a signal that cannot be watched is misuse; the line says why.
 *  Cost: two allocations besides the source. The first object of a signal also makes what stays for the life of the
 *  process: less than a kilobyte. Adding to the first loop: two system calls. A signal: O(objects and their loops),
 *  and a system call for each of their loops that sleeps. */
RL_EXPORT RLSignalRef RLSignalCreate(RLAllocatorRef allocator, int number, RLIndex order, RLSignalCallBack callout,
                                     const RLSignalContext *context);

/** Returns the signal of an object.
 *  @param signal  also an invalid one. */
RL_EXPORT int RLSignalGetNumber(RLSignalRef signal);

RL_EXTERN_C_END
#endif
