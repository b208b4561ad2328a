/** @file RLWorkers.h
 *  Workers: functions that may block run on threads of their own, and their completion is a call on a loop.
 *  Examples: examples/workers.c
 *
 *  Create workers, a number of threads at most; then for each thing to do a work, which you add to a mode of the loop
 *  that is to hear of its end, and hand to the workers:
 *
 *      RLWorkersRef workers = RLWorkersCreate(NULL, 4);
 *      RLWorkRef work = RLWorkCreate(NULL, 0, compress, compressed, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), work, kRLRunLoopDefaultMode);
 *      RLWorkersSubmit(workers, work);
 *      RLRelease(work);
 *
 *  `compress` runs on one of the threads. When it has returned, `compressed` is called on the loop, in one of the modes
 *  to which the work was added. What the first has written is visible to the second. A work is for once: when it is
 *  complete it is invalid, so that a loop whose works are done may finish.
 *
 *  Works begin in the order in which they were handed over; with a limit of 1 each begins when the one before has
 *  returned. Threads are made when they are needed, up to the limit, and stay. The kit makes no thread that the program
 *  has not asked for in this way.
 *
 *  Progress
 *  --------
 *  While it runs, a work may send anything to a loop: RLRunLoopPostFunction(), RLPortSendData(). What it has posted to
 *  the mode in which its completion is called comes before that.
 *
 *  Cancelling
 *  ----------
 *  RLWorkCancel() or RLRunLoopSourceInvalidate(): a work that has not begun never does; one that runs goes on, and can
 *  find out by RLRunLoopSourceIsValid() that its completion will not be called. A loop that ends leaves its works as
 *  they are: they run, and complete when they are added to another.
 *
 *  The end of the workers
 *  ----------------------
 *  The last RLRelease() of the workers cancels what has not begun, and waits for what runs. So a function must not wait
 *  for the thread that releases its workers. In a function of theirs the last release does not wait for that function.
 *
 *  The threads block all signals, and cannot be cancelled. A function may end its thread by pthread_exit(): the work
 *  is complete then, and another thread takes over. In the child of a fork() there are no workers: works that had not
 *  ended never do, and RLWorkersSubmit() fails. A function that has forked ends the child by returning there, as its
 *  thread is the only one. */
#ifndef RUNLOOPKIT_RLWORKERS_H
#define RUNLOOPKIT_RLWORKERS_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A number of threads. It is a source only so that it is an object: do not add it to a loop. */
typedef RLRunLoopSourceRef RLWorkersRef;
/** A function that workers call, and what is called on a loop then: a run loop source. */
typedef RLRunLoopSourceRef RLWorkRef;

/** Called once, on a thread of the workers. May block, and call whatever any thread may call.
 *  @param work  the work: RLRunLoopSourceIsValid() says whether its completion is still wanted.
 *  @param info  the context's. */
typedef void (*RLWorkFunction)(RLWorkRef work, void *info);

/** Called once, on the loop's thread, after the function has returned. May release the work, and run the loop.
 *  @param work  the work, which is invalid.
 *  @param info  the context's. */
typedef void (*RLWorkCallBack)(RLWorkRef work, void *info);

/** What is passed to the functions. Every pointer may be NULL. */
typedef struct RLWorkContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the functions. */
    /** Called once, in Create; what it returns is the work's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the work is freed, on the thread that frees it: a loop's, a worker, or one of yours. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLWorkContext;

/** Creates workers. No thread is made before there is work.
 *  @param limit  how many threads there are at most, from 1 to 1024.
 *  @return the workers, or NULL.
 *  Ownership: you own them; the last release waits: see "The end of the workers".
 *  Errors: NULL with errno EAGAIN if the process has no pthread key left.
 *  Cost: allocations of some kilobytes for a limit of 1024. */
RL_EXPORT RLWorkersRef RLWorkersCreate(RLAllocatorRef allocator, RLIndex limit);

/** Returns how many threads workers have at most, as created. */
RL_EXPORT RLIndex RLWorkersGetLimit(RLWorkersRef workers);

/** Hands a work over: it begins when a thread is free and those before it have begun.
 *  @param work  one that was not handed over before.
 *  @return 1, or 0 if it was not taken.
 *  Ownership: the workers retain work until it has ended, or its turn has come after it was cancelled.
 *  Errors: 0 with errno EALREADY if it was handed over before; ECANCELED if it is invalid, as when it is complete;
 *  EAGAIN if there is no thread, and none can be made; ESRCH in the child of a fork().
 *  Cost: a few system calls if a thread is made or sleeps. */
RL_EXPORT RLBoolean RLWorkersSubmit(RLWorkersRef workers, RLWorkRef work);

/** Creates a work, which is in no loop and was not handed over.
 *  @param order     of its completion: among the signalled sources of a pass the lowest is called first.
 *  @param function  called on a thread of the workers; not NULL.
 *  @param callout   called on a loop after that; NULL: nothing is.
 *  @param context   copied; NULL for an info of NULL.
 *  @return the work, or NULL.
 *  Ownership: info is retained through context.retain until the work is freed.  Re-entrancy: calls context.retain.
 *  Cost: two allocations besides the source; its completion needs none, and so cannot fail. */
RL_EXPORT RLWorkRef RLWorkCreate(RLAllocatorRef allocator, RLIndex order, RLWorkFunction function,
                                 RLWorkCallBack callout, const RLWorkContext *context);

/** Cancels a work: its completion is not called any more, and unless it has begun, nor is its function.
 *  @return 1 if this call has kept the function from being called; 0 if it has begun, or the work was over already. */
RL_EXPORT RLBoolean RLWorkCancel(RLWorkRef work);

RL_EXTERN_C_END
#endif
