/** @file RLRunLoopPerform.h
 *  Performs: run a function on the thread of a run loop, without making a source for it.
 *
 *  A request names a loop, one or several modes, a function and its info. The loop runs the function in the next pass
 *  that serves one of the modes, on its own thread, and forgets the request.
 *
 *      RLRunLoopPerformFunction            queue it; the loop is not woken (CFRunLoopPerformBlock)
 *      RLRunLoopPerformFunctionWithRelease the same, and tell when info is not needed any more
 *      RLRunLoopPostFunction               queue it and wake the loop: the usual way to another thread
 *      RLRunLoopPostFunctionWithRelease    the same, and tell when info is not needed any more
 *      RLRunLoopPerformFunctionAndWait     post it and wait until it was run
 *      RLRunLoopPerformFunctionAfterDelay  run it after some time
 *      RLRunLoopCancelPerformFunction      withdraw requests that have not been run
 *
 *  Rules
 *  -----
 *  Functions of one mode run in the order in which they were queued, whoever queued them; delayed ones when they are
 *  due, in one order with timers, and those of the same moment as they were queued. They run in steps 4 and 9 of a
 *  pass (RLRunLoop.h). A function that is queued by a running one waits for the next such step, and so does the rest
 *  of a queue that takes longer than a millisecond, unless the run has no more passes. A queued function keeps its
 *  modes from being empty, so it is run even if there is nothing else; functions for other modes stay queued.
 *  Functions do not count as a source for returnAfterSourceHandled.
 *  `modes` is a mode (an RLStringRef), an RLArrayRef or RLSetRef of modes, or kRLRunLoopCommonModes; the function runs
 *  once, in whichever comes first. It is retained while the request is queued.
 *  Requests wait while the loop does not run. They are dropped when its thread exits, and refused after that.
 *  What the caller wrote before the call is visible to the function; what the function wrote is visible to the caller
 *  when AndWait returns 1.
 *
 *  Differences from CoreFoundation and Cocoa
 *  -----------------------------------------
 *  1. CFRunLoopPerformBlock has blocks only. Here functions come first, and blocks are a thin layer above them.
 *  2. RLRunLoopPostFunction() wakes the loop. With CFRunLoopPerformBlock, a forgotten CFRunLoopWakeUp is the classic
 *     mistake.
 *  3. AndWait, AfterDelay and Cancel are Cocoa's performSelector:onThread:…waitUntilDone:,
 *     performSelector:withObject:afterDelay: and cancelPreviousPerformRequests… Waiting has a time limit here, ends
 *     when the thread exits, and Cancel reaches requests of every kind. In Cocoa it reaches delayed ones only.
 *  4. There is a result: a request that cannot be queued is told to the caller. */
#ifndef RUNLOOP_RLRUNLOOPPERFORM_H
#define RUNLOOP_RLRUNLOOPPERFORM_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** A function that a loop runs, or one that releases info.
 *  @param info  what was given with the function. */
typedef void (*RLRunLoopFunction)(void *info);

/** Queues a function for a loop without waking it: it runs in the next pass that serves one of the modes.
 *  A loop that sleeps, or is about to, does not notice: call RLRunLoopWakeUp(), or use RLRunLoopPostFunction().
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function; may be NULL.
 *  @return 1 if it is queued, else 0.
 *  Ownership: info stays yours and must be valid until function has run.  Thread: any.
 *  Re-entrancy: allowed in callbacks; function may call everything, also run the loop.
 *  Errors: 0 with errno ENOMEM; ESRCH if the loop's thread has exited; EINVAL for a mistake, which is reported.
 *  Cost: no allocation in a steady flow, no system call.  Since: 0.1.  Example: examples/perform-on-thread.c */
RL_EXPORT RLBoolean RLRunLoopPerformFunction(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info);

/** Queues a function as RLRunLoopPerformFunction() does, and releases info exactly once when it is not needed any more:
 *  after function has run, or when the request is cancelled, or dropped because the thread exits.
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function and release; may be NULL.
 *  @param release   called with info, after function on the loop's thread, or on the thread that cancels or drops the
 *                   request; may be NULL.
 *  @return 1 if it is queued, else 0: release is then NOT called, and info is still yours.
 *  Ownership: with 1 the request owns info.  Thread: any.
 *  Re-entrancy: allowed in callbacks; function and release may call everything.
 *  Errors: 0 with errno ENOMEM; ESRCH if the loop's thread has exited; EINVAL for a mistake, which is reported.
 *  Cost: no allocation in a steady flow, no system call.  Since: 0.1.  Example: examples/blocks.c */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                        void *info, RLRunLoopFunction release);

/** Queues a function for a loop and wakes the loop: RLRunLoopPerformFunction() and RLRunLoopWakeUp() in one.
 *  Never lost: if the loop does not run yet, the function waits for it.
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function; may be NULL.
 *  @return 1 if it is queued, else 0.
 *  Ownership: info stays yours and must be valid until function has run.  Thread: any.
 *  Re-entrancy: allowed in callbacks; on the loop's own thread it is queued, too.
 *  Errors: 0 with errno ENOMEM; ESRCH if the loop's thread has exited; EINVAL for a mistake, which is reported.
 *  Cost: no allocation in a steady flow, and one system call if the loop sleeps.  Since: 0.1.
 *  Example: examples/perform-on-thread.c */
RL_EXPORT RLBoolean RLRunLoopPostFunction(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info);

/** Queues a function and wakes the loop as RLRunLoopPostFunction() does, and releases info exactly once when it is not
 *  needed any more: after function has run, or when the request is cancelled, or dropped because the thread exits.
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function and release; may be NULL.
 *  @param release   called with info, after function on the loop's thread, or on the thread that cancels or drops the
 *                   request; may be NULL.
 *  @return 1 if it is queued, else 0: release is then NOT called, and info is still yours.
 *  Ownership: with 1 the request owns info.  Thread: any.
 *  Re-entrancy: allowed in callbacks; function and release may call everything.
 *  Errors: 0 with errno ENOMEM; ESRCH if the loop's thread has exited; EINVAL for a mistake, which is reported.
 *  Cost: a small allocation, and one system call if the loop sleeps.  Since: 0.1.
 *  Example: examples/perform-on-thread.c */
RL_EXPORT RLBoolean RLRunLoopPostFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                     void *info, RLRunLoopFunction release);

/** Runs a function on a loop's thread and waits until it has returned.
 *  On the loop's own thread it is called at once, whatever the modes. Otherwise it is posted, and this thread sleeps;
 *  its own loop is not run meanwhile, so two threads that wait for each other in this way wait until the time is over.
 *  When the time is over before the function has begun, the request is withdrawn: the function never runs. When it has
 *  begun, the call waits for its end, however long that takes, and returns 1. Signals do not end the wait.
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function; may be NULL, and may be on this thread's stack.
 *  @param timeout   seconds, on the monotonic clock. HUGE_VAL or 1e10 and more: for ever. 0 or negative: give up at
 *                   once, unless it is the loop's own thread.
 *  @return 1 if function has run; 0 if it has not and never will.
 *  Ownership: info stays yours; after the return nobody uses it.  Thread: any.
 *  Re-entrancy: allowed in callbacks, which it may block.
 *  Errors: 0 with errno ETIMEDOUT; ECANCELED if RLRunLoopCancelPerformFunction() withdrew it; ESRCH if the loop's
 *  thread has exited or exits first; ENOMEM; EINVAL for a mistake, which is reported (NaN is one).
 *  Cost: on another thread two switches of threads, some tens of microseconds; on the loop's own a function call.
 *  Since: 0.1.  Example: examples/perform-on-thread.c */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionAndWait(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                    void *info, RLTimeInterval timeout);

/** Runs a function on a loop's thread after some time, by a timer in the given modes that fires once.
 *  Like every timer it may be late, never early (RLRunLoopTimer.h, "Lateness"), and keeps its modes from being empty. A
 *  loop that sleeps takes notice.
 *  @param rl        not NULL.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      handed to function; may be NULL.
 *  @param delay     seconds from now; 0 or negative: the next pass, behind all that is due by now. HUGE_VAL: not at
 *                   all; it waits to be cancelled.
 *  @return 1 if it is queued, else 0.
 *  Ownership: info stays yours and must be valid until function has run or was cancelled.  Thread: any.
 *  Re-entrancy: allowed in callbacks; function may call everything.
 *  Errors: 0 with errno ENOMEM; ESRCH if the loop's thread has exited; EINVAL for a mistake, which is reported (NaN is
 *  one).
 *  Cost: O(log timers), a small allocation; one system call if another thread's loop sleeps.  Since: 0.1.
 *  Example: examples/perform-on-thread.c */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionAfterDelay(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                       void *info, RLTimeInterval delay);

/** Withdraws requests that have not been run: performs, posts, waits and delayed performs.
 *  A request that is being run is not stopped and not counted. Release functions run in this call; a waiting caller
 *  gets 0 with ECANCELED.
 *  @param rl        not NULL.
 *  @param function  which function; NULL: every function.
 *  @param info      which info, compared as a pointer; NULL means the requests whose info is NULL.
 *  @return the number of requests that were withdrawn.
 *  Ownership: infos of the withdrawn requests are yours again, unless they had a release function.  Thread: any;
 *  ends another thread's run whose mode is empty now.  Re-entrancy: allowed in callbacks; calls release functions.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(queued requests); at most one system call.  Since: 0.1.  Example: examples/perform-on-thread.c */
RL_EXPORT RLIndex RLRunLoopCancelPerformFunction(RLRunLoopRef rl, RLRunLoopFunction function, void *info);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: a queued function whose info is a block. */
static inline void RLRunLoopCallBlock(void *info) { ((void (^)(void))info)(); }

/** Internal: the release function of a queued block. */
static inline void RLRunLoopDisposeBlock(void *info) { _Block_release(info); }

/** Queues a block for a loop without waking it: RLRunLoopPerformFunctionWithRelease() for a block.
 *  @param rl     not NULL.
 *  @param modes  a mode, or an array or a set of modes; not NULL.
 *  @param block  not NULL; copied, called on the loop's thread, then released.
 *  @return 1 if it is queued, else 0.
 *  Ownership: the block is copied.  Thread: any.  Re-entrancy: allowed in callbacks; the block may call everything.
 *  Errors: as RLRunLoopPerformFunctionWithRelease(); a NULL block is reported as a NULL function. ENOMEM if the block
 *  cannot be copied.
 *  Cost: copying the block and one small allocation, no system call.  Since: 0.1.  Example: examples/blocks.c */
static inline RLBoolean RLRunLoopPerformBlock(RLRunLoopRef rl, RLTypeRef modes, void (^block)(void))
{
    void *copy = _Block_copy((const void *)block);
    if (block == NULL)
        return RLRunLoopPerformFunctionWithRelease(rl, modes, NULL, NULL, NULL);
    if (copy == NULL)
        return 0; /* errno is malloc's */
    if (RLRunLoopPerformFunctionWithRelease(rl, modes, RLRunLoopCallBlock, copy, RLRunLoopDisposeBlock))
        return 1;
    _Block_release(copy);
    return 0;
}

/** Queues a block for a loop and wakes the loop: RLRunLoopPostFunctionWithRelease() for a block.
 *  @param rl     not NULL.
 *  @param modes  a mode, or an array or a set of modes; not NULL.
 *  @param block  not NULL; copied, called on the loop's thread, then released.
 *  @return 1 if it is queued, else 0.
 *  Ownership: the block is copied.  Thread: any.
 *  Re-entrancy: allowed in callbacks; the block may call everything.  Errors: as RLRunLoopPerformBlock().
 *  Cost: that of RLRunLoopPerformBlock(), and one system call if the loop sleeps.  Since: 0.1.
 *  Example: examples/blocks.c */
static inline RLBoolean RLRunLoopPostBlock(RLRunLoopRef rl, RLTypeRef modes, void (^block)(void))
{
    void *copy = _Block_copy((const void *)block);
    if (block == NULL)
        return RLRunLoopPostFunctionWithRelease(rl, modes, NULL, NULL, NULL);
    if (copy == NULL)
        return 0; /* errno is malloc's */
    if (RLRunLoopPostFunctionWithRelease(rl, modes, RLRunLoopCallBlock, copy, RLRunLoopDisposeBlock))
        return 1;
    _Block_release(copy);
    return 0;
}

/** Runs a block on a loop's thread and waits until it has returned: RLRunLoopPerformFunctionAndWait() for a block.
 *  @param rl       not NULL.
 *  @param modes    a mode, or an array or a set of modes; not NULL.
 *  @param block    not NULL; not copied, so its __block variables stay on this thread's stack.
 *  @param timeout  seconds; HUGE_VAL or 1e10 and more: for ever. 0 or negative: give up at once.
 *  @return 1 if the block has run; 0 if it has not and never will.
 *  Ownership: the block stays yours.  Thread: any.  Re-entrancy: allowed in callbacks, which it may block.
 *  Errors: as RLRunLoopPerformFunctionAndWait(); a NULL block is reported as a NULL function.
 *  Cost: as RLRunLoopPerformFunctionAndWait().  Since: 0.1.  Example: examples/blocks.c */
static inline RLBoolean RLRunLoopPerformBlockAndWait(RLRunLoopRef rl, RLTypeRef modes, void (^block)(void),
                                                     RLTimeInterval timeout)
{
    RLRunLoopFunction function = block == NULL ? NULL : RLRunLoopCallBlock;
    return RLRunLoopPerformFunctionAndWait(rl, modes, function, (void *)block, timeout);
}
#endif

RL_EXTERN_C_END
#endif
