/** @file RLWorkers.h
 *  Workers: functions that may block run on threads of their own; a loop is called when they are complete.
 *  Examples: examples/workers.c
 *
 *  Create workers, which are a limited number of threads. For each task create a work, add it to a mode of the loop
 *  that is to be called when it is complete, and submit it to the workers:
 *
 *      RLWorkersRef workers = RLWorkersCreate(NULL, 4);
 *      RLWorkRef work = RLWorkCreate(NULL, 0, compress, compressed, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), work, kRLRunLoopDefaultMode);
 *      RLWorkersSubmit(workers, work);
 *      RLRelease(work);
 *
 *  `compress` runs on one of the threads. When it has returned, the completion callback `compressed` is called on the
 *  loop, in one of the modes to which the work was added. Whatever the former writes is visible to the latter. A work
 *  is used once: when it is complete it is invalid, so that a loop whose works are done may finish.
 *
 *  Works begin in the order in which they were submitted; with a limit of 1 each begins when the previous one has
 *  returned. Threads are created when they are needed, up to the limit, and are kept. The kit creates no thread that
 *  the program has not asked for in this way.
 *
 *  Progress
 *  --------
 *  While it runs, a work may send anything to a loop: RLRunLoopPostFunction(), RLPortMessageSendBeforeDate(). The
 *  functions that it has posted to the mode in which its completion callback is called are called before that, unless
 *  memory runs out, or one of them runs the loop.
 *
 *  Cancelling
 *  ----------
 *  RLWorkCancel() or RLRunLoopSourceInvalidate() cancels a work. If it has not begun, it never will; if it is running,
 *  it continues, and can find out with RLRunLoopSourceIsValid() that its completion callback will not be called. A loop
 *  that ends leaves its works alone: they run, and complete when they are added to another loop.
 *
 *  The end of the workers
 *  ----------------------
 *  The last RLRelease() of the workers cancels works that have not begun, and waits for those that are running. So a
 *  work's function must not wait for the thread that releases its workers. If the last release is made in the function
 *  of one of their works, it does not wait for that function.
 *
 *  The threads block all signals, and cannot be cancelled. A function may end its thread with pthread_exit(): the work
 *  is then complete, and another thread takes over. In the child of a fork() there are no workers: works that had not
 *  ended never do, and RLWorkersSubmit() fails. If a function of a work has forked, its return ends the child process,
 *  since its thread is the only one there. */
#ifndef RUNLOOPKIT_RLWORKERS_H
#define RUNLOOPKIT_RLWORKERS_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A group of worker threads. It is a source only in order to be an object: do not add it to a loop. */
typedef RLRunLoopSourceRef RLWorkersRef;
/** A function for workers and its completion callback on a loop: a run loop source. */
typedef RLRunLoopSourceRef RLWorkRef;

/** The function of a work, called once, on a thread of the workers. It may block, and call whatever any thread may
 *  call.
 *  @param work  the work: RLRunLoopSourceIsValid() returns whether its completion callback is still wanted.
 *  @param info  the work's info. */
typedef void (*RLWorkFunction)(RLWorkRef work, void *info);

/** The completion callback of a work, called once, on the loop's thread, after the function has returned. It may
 *  release the work and run the loop.
 *  @param work  the work, which is invalid.
 *  @param info  the work's info. */
typedef void (*RLWorkCallBack)(RLWorkRef work, void *info);

/** The info of a work and the functions that manage it. Every pointer may be NULL. */
typedef struct RLWorkContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function and the callback. */
    /** Called once, in Create; what it returns is the work's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the work is freed, on the thread that frees it: that of a loop, a worker, or one of your
     *  own. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLWorkContext;

/** Creates workers. No thread is created before there is work.
 *  @param limit  the maximum number of threads, from 1 to 1024.
 *  @return the workers, or NULL.
 *  Ownership: you own them; the last release waits: see "The end of the workers".
 *  Errors: NULL with errno EAGAIN if the process has no pthread key left.
 *  Cost: allocations of some kilobytes for a limit of 1024. */
RL_EXPORT RLWorkersRef RLWorkersCreate(RLAllocatorRef allocator, RLIndex limit);

/** Returns the maximum number of threads with which workers were created. */
RL_EXPORT RLIndex RLWorkersGetLimit(RLWorkersRef workers);

/** Submits a work: it begins when a thread is free and all earlier works have begun.
 *  @param work  a work that was not submitted before.
 *  @return 1, or 0 if the work was not accepted.
 *  Ownership: the workers retain work until it has ended or, if it was cancelled, until its turn.
 *  Errors: 0 with errno EALREADY if the work was submitted before; ECANCELED if it is invalid, for example because it
 *  is complete; EAGAIN if there is no thread and none can be created; ESRCH in the child of a fork().
 *  Cost: a few system calls if a thread is created or sleeps. */
RL_EXPORT RLBoolean RLWorkersSubmit(RLWorkersRef workers, RLWorkRef work);

/** Creates a work. It is in no loop and has not been submitted.
 *  @param order     the order of its completion callback: of the signalled sources in a pass, the lowest order is
 *                   called first.
 *  @param function  called on a thread of the workers; not NULL.
 *  @param callout   the completion callback, called on a loop after that; NULL: none.
 *  @param context   copied; NULL: info is NULL.
 *  @return the work, or NULL.
 *  Ownership: info is retained through context.retain until the work is freed.  Re-entrancy: calls context.retain.
 *  Cost: two allocations in addition to the source; completion cannot fail. */
RL_EXPORT RLWorkRef RLWorkCreate(RLAllocatorRef allocator, RLIndex order, RLWorkFunction function,
                                 RLWorkCallBack callout, const RLWorkContext *context);

/** Cancels a work: its completion callback will not be called and, if its function has not begun, neither will that.
 *  @return 1 if this call prevents the function from being called; 0 if the function has begun, or the work was already
 *  complete or cancelled. */
RL_EXPORT RLBoolean RLWorkCancel(RLWorkRef work);

RL_EXTERN_C_END
#endif
