/** @file RLRunLoopPerform.h
 *  Performs: calling a function on the thread of a run loop, without creating a source for it.
 *  Examples: examples/perform-on-thread.c, examples/blocks.c
 *
 *  A request names a loop, one or several modes, a function and its info. The loop calls the function once, on its own
 *  thread, in the next pass that serves one of the modes.
 *
 *      RLRunLoopPerformFunction            queue it; the loop is not woken (CFRunLoopPerformBlock)
 *      RLRunLoopPerformFunctionWithRelease also release info when it is no longer needed
 *      RLRunLoopPostFunction               queue it and wake the loop: the usual way to reach another thread
 *      RLRunLoopPostFunctionWithRelease    also release info when it is no longer needed
 *      RLRunLoopPerformFunctionAndWait     post it and wait until it has run
 *      RLRunLoopPerformFunctionAfterDelay  run it after some time; …AfterDelayWithRelease: also release info
 *      RLRunLoopCancelPerformFunction      cancel requests that have not run
 *
 *  Rules
 *  -----
 *  The functions of one mode run in the order in which they were queued, whichever thread queued them. Delayed
 *  functions run when they are due, in one order with timers; those due at the same moment run as they were queued.
 *  Functions run in steps 4 and 9 of a pass (RLRunLoop.h). A function queued by a running one waits for the next such
 *  step, and so does the rest of a queue that takes long, unless the run has no more passes. A queued function keeps
 *  its modes from being empty, so it runs even if there is nothing else; functions for other modes stay queued.
 *  Functions do not count as a source for returnAfterSourceHandled. A function may call anything, and may run the loop.
 *
 *  `modes` is a mode (an RLStringRef), kRLRunLoopCommonModes, or a non-empty RLArrayRef or RLSetRef of modes, which may
 *  contain kRLRunLoopCommonModes. The function runs once, in whichever of its modes is served first. A mode is
 *  retained, an array or set copied. Requests wait while the loop does not run. When the loop's thread exits, its
 *  requests are dropped; later ones are refused.
 *
 *  What the caller wrote before the call is visible to the function; what the function wrote is visible to the caller
 *  when AndWait returns 1. If a request cannot be queued, 0 is returned with errno ENOMEM, with ESRCH if the loop's
 *  thread has exited, or with EINVAL for misuse.
 *
 *  Differences from CoreFoundation and Cocoa
 *  -----------------------------------------
 *  1. CFRunLoopPerformBlock takes only blocks. Here functions are the basis, and blocks are a thin layer above them.
 *  2. RLRunLoopPostFunction() wakes the loop. With CFRunLoopPerformBlock, a forgotten CFRunLoopWakeUp is the classic
 *     mistake.
 *  3. AndWait, AfterDelay and Cancel are Cocoa's performSelector:onThread:…waitUntilDone:,
 *     performSelector:withObject:afterDelay: and cancelPreviousPerformRequests… Waiting has a time limit here, and ends
 *     when the thread exits. Cancel applies to requests of every kind; in Cocoa it applies only to delayed ones.
 *  4. There is a result: the caller learns if a request cannot be queued. */
#ifndef RUNLOOP_RLRUNLOOPPERFORM_H
#define RUNLOOP_RLRUNLOOPPERFORM_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** A function that a loop calls, or one that releases info.
 *  @param info  the info passed with the function. */
typedef void (*RLRunLoopFunction)(void *info);

/** Queues a function for a loop without waking it: it runs in the next pass that serves one of the modes.
 *  A loop that sleeps or is about to sleep does not notice the request: call RLRunLoopWakeUp(), or use
 *  RLRunLoopPostFunction() instead.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      passed to function; may be NULL.
 *  @return 1 if it is queued, else 0.
 *  Ownership: info stays yours and must be valid until function has run.  Cost: an occasional allocation. */
RL_EXPORT RLBoolean RLRunLoopPerformFunction(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info);

/** Queues a function as RLRunLoopPerformFunction() does, and releases info exactly once, when it is no longer needed:
 *  after function has run, when the request is cancelled, or when it is dropped because the thread exits.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      passed to function and release; may be NULL.
 *  @param release   called with info, after function on the loop's thread, or on the thread that cancels or drops the
 *                   request; may be NULL.
 *  @return 1 if it is queued, else 0: release is then NOT called, and info is still yours.
 *  Ownership: with 1 the request owns info.  Cost: an occasional allocation. */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                        void *info, RLRunLoopFunction release);

/** Queues a function for a loop and wakes the loop: RLRunLoopPerformFunction() and RLRunLoopWakeUp() in one.
 *  The function is never lost: if the loop is not running yet, the function waits for it. It is queued even if this is
 *  called on the loop's own thread. Parameters and result as RLRunLoopPerformFunction().
 *  Ownership: info stays yours and must be valid until function has run.
 *  Cost: an occasional allocation; a system call if the loop sleeps. */
RL_EXPORT RLBoolean RLRunLoopPostFunction(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info);

/** Queues a function and wakes the loop: RLRunLoopPerformFunctionWithRelease() and RLRunLoopWakeUp() in one.
 *  Parameters and result as RLRunLoopPerformFunctionWithRelease().
 *  Ownership: with 1 the request owns info.  Cost: an occasional allocation; a system call if the loop sleeps. */
RL_EXPORT RLBoolean RLRunLoopPostFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                     void *info, RLRunLoopFunction release);

/** Runs a function on a loop's thread and waits until it has returned.
 *  On the loop's own thread the function is called directly, whatever the modes. Otherwise it is posted, and this
 *  thread sleeps; its own loop is not run meanwhile, so two threads that wait for each other in this way wait until
 *  they time out. If the time limit is reached before the function has begun, the request is cancelled: the function
 *  never runs. Once the function has begun, the call waits until it returns, however long that takes, and returns 1.
 *  Signals do not end the wait.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      passed to function; may be NULL, and may be on this thread's stack.
 *  @param timeout   time limit in seconds, on the monotonic clock. HUGE_VAL or 1e10 and more: no limit. 0 or negative:
 *                   fail at once, unless this is the loop's own thread.
 *  @return 1 if function has run; 0 if it has not and never will.
 *  Ownership: info stays yours; it is not used after the call returns.
 *  Re-entrancy: blocks the callback that calls it; on the loop's own thread it calls function.
 *  Errors: 0 with errno ETIMEDOUT; ECANCELED after RLRunLoopCancelPerformFunction(); ESRCH also if the loop's thread
 *  exits first.  Cost: on another thread two context switches, some tens of microseconds. */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionAndWait(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                    void *info, RLTimeInterval timeout);

/** Runs a function on a loop's thread after a delay, as a one-shot timer in the given modes.
 *  Like every timer the function may run late but never early (RLRunLoopTimer.h, "Lateness"), and it keeps its modes
 *  from being empty. A sleeping loop is woken if necessary.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      passed to function; may be NULL.
 *  @param delay     seconds from now; 0 or negative: the next pass, after everything that is due by now. HUGE_VAL:
 *                   never; the request stays queued until it is cancelled.
 *  @return 1 if it is queued, else 0.
 *  Ownership: info stays yours and must be valid until function has run or was cancelled.
 *  Cost: O(log timers), a small allocation; one system call if the loop is another thread's and sleeps. */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionAfterDelay(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                       void *info, RLTimeInterval delay);

/** Runs a function after a delay as RLRunLoopPerformFunctionAfterDelay() does, and releases info exactly once, as
 *  RLRunLoopPerformFunctionWithRelease() does: after function has run, when the request is cancelled, or when it is
 *  dropped because the thread exits.
 *  @param modes     a mode, or an array or a set of modes; not NULL.
 *  @param function  not NULL; called on the loop's thread.
 *  @param info      passed to function and release; may be NULL.
 *  @param delay     seconds from now, as for RLRunLoopPerformFunctionAfterDelay().
 *  @param release   called with info, after function on the loop's thread, or on the thread that cancels or drops the
 *                   request; may be NULL.
 *  @return 1 if it is queued, else 0: release is then NOT called, and info is still yours.
 *  Ownership: with 1 the request owns info.
 *  Cost: that of RLRunLoopPerformFunctionAfterDelay(), and a small allocation. */
RL_EXPORT RLBoolean RLRunLoopPerformFunctionAfterDelayWithRelease(RLRunLoopRef rl, RLTypeRef modes,
                                                                  RLRunLoopFunction function, void *info,
                                                                  RLTimeInterval delay, RLRunLoopFunction release);

/** Cancels requests that have not run: performs, posts, waits and delayed performs.
 *  A request that is running is neither stopped nor counted, unless this is the child of a fork() in which its thread
 *  does not exist. A caller that waits for a cancelled request returns 0 with ECANCELED. If this empties the mode of a
 *  run on another thread, that run ends.
 *  @param function  the function of the requests; NULL: every function.
 *  @param info      the info of the requests, compared as a pointer; NULL: requests whose info is NULL.
 *  @return the number of requests that were cancelled.
 *  Ownership: infos of the cancelled requests are yours again, unless they had a release function.
 *  Re-entrancy: calls release functions. If one of them ends the calling thread, the remaining ones are called when the
 *  loop's own thread exits.
 *  Cost: O(queued requests); at most one system call. */
RL_EXPORT RLIndex RLRunLoopCancelPerformFunction(RLRunLoopRef rl, RLRunLoopFunction function, void *info);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: a queued function whose info is a block. */
static inline void RLRunLoopCallBlock(void *info) { ((void (^)(void))info)(); }

/** Internal: the release function of a queued block. */
static inline void RLRunLoopDisposeBlock(void *info) { _Block_release(info); }

/** Queues a block for a loop without waking it: RLRunLoopPerformFunctionWithRelease() for a block.
 *  @param modes  a mode, or an array or a set of modes; not NULL.
 *  @param block  not NULL; copied, called on the loop's thread, then released.
 *  @return 1 if it is queued, else 0.
 *  Cost: copying the block and one small allocation. */
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
 *  Parameters and result as RLRunLoopPerformBlock().
 *  Cost: that of RLRunLoopPerformBlock(), and one system call if the loop sleeps. */
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

/** Runs a block on a loop's thread after a delay: RLRunLoopPerformFunctionAfterDelayWithRelease() for a block.
 *  @param modes  a mode, or an array or a set of modes; not NULL.
 *  @param block  not NULL; copied, called on the loop's thread, then released.
 *  @param delay  seconds from now, as for RLRunLoopPerformFunctionAfterDelay().
 *  @return 1 if it is queued, else 0.
 *  Cost: copying the block, and that of RLRunLoopPerformFunctionAfterDelayWithRelease(). */
static inline RLBoolean RLRunLoopPerformBlockAfterDelay(RLRunLoopRef rl, RLTypeRef modes, void (^block)(void),
                                                        RLTimeInterval delay)
{
    void *copy = _Block_copy((const void *)block);
    if (block == NULL)
        return RLRunLoopPerformFunctionAfterDelayWithRelease(rl, modes, NULL, NULL, delay, NULL);
    if (copy == NULL)
        return 0; /* errno is malloc's */
    if (RLRunLoopPerformFunctionAfterDelayWithRelease(rl, modes, RLRunLoopCallBlock, copy, delay,
                                                      RLRunLoopDisposeBlock))
        return 1;
    _Block_release(copy);
    return 0;
}

/** Runs a block on a loop's thread and waits until it has returned: RLRunLoopPerformFunctionAndWait() for a block.
 *  @param modes    a mode, or an array or a set of modes; not NULL.
 *  @param block    not NULL; not copied, so its __block variables stay on this thread's stack.
 *  @param timeout  seconds to wait, as for RLRunLoopPerformFunctionAndWait().
 *  @return 1 if the block has run; 0 if it has not and never will.
 *  Re-entrancy: blocks the callback that calls it.  Errors: those of RLRunLoopPerformFunctionAndWait(). */
static inline RLBoolean RLRunLoopPerformBlockAndWait(RLRunLoopRef rl, RLTypeRef modes, void (^block)(void),
                                                     RLTimeInterval timeout)
{
    RLRunLoopFunction function = block == NULL ? NULL : RLRunLoopCallBlock;
    return RLRunLoopPerformFunctionAndWait(rl, modes, function, (void *)block, timeout);
}
#endif

RL_EXTERN_C_END
#endif
