/** @file RLRunLoopObserver.h
 *  Observers: functions that a run loop calls at fixed points of its pass.
 *
 *  An observer is for what must happen at a certain point of the loop rather than on an event: flush collected output
 *  before the thread sleeps, measure how long it slept, prepare and clean up around a run. The points are the
 *  activities below; RLRunLoop.h, "One run, step by step", tells where they are. The observers of one activity are
 *  called by ascending order, those of one order as they came into the mode, on the loop's thread. Observers alone do
 *  not keep a mode running.
 *
 *  Life cycle
 *  ----------
 *  Create, add to modes of one loop, and at the end invalidate. A non-repeating observer is invalidated by the library
 *  after its first call; it is still valid in that call. While it is in one loop it cannot be added to another.
 *  Info is retained once in Create and released when the observer becomes invalid or, if it never does, is freed.
 *
 *  What not to expect
 *  ------------------
 *  Times between an activity and the event that follows it are not fixed: callbacks run in between. In a run without
 *  time, and in a pass in which a version-0 source has performed, the loop does not sleep, and there is no
 *  BeforeWaiting and AfterWaiting. A run in an empty mode calls no observer at all, not even with Entry and Exit.
 *  An observer whose callback runs the loop is skipped in that nested run; it is called again in runs that are nested
 *  in other callbacks.
 *
 *  Deliberate difference from CFRunLoopObserver (the list in RLRunLoop.h has them all)
 *  ---------------------------------------------------------------------------------
 *  0. A version-1 source that is ready when the loop comes to it is handled without BeforeWaiting and AfterWaiting. CF
 *     sends both. A loop that really sleeps sends both, of course. */
#ifndef RUNLOOP_RLRUNLOOPOBSERVER_H
#define RUNLOOP_RLRUNLOOPOBSERVER_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** One activity in a callback, or a set of them in RLRunLoopObserverCreate(). */
typedef RLOptionFlags RLRunLoopActivity;
/** The activities. */
enum {
    kRLRunLoopEntry = 1 << 0,            /**< A run begins. Once per run. */
    kRLRunLoopBeforeTimers = 1 << 1,     /**< A pass begins. */
    kRLRunLoopBeforeSources = 1 << 2,    /**< Functions and version-0 sources are about to run. */
    kRLRunLoopBeforeWaiting = 1 << 5,    /**< The thread is about to sleep. */
    kRLRunLoopAfterWaiting = 1 << 6,     /**< The thread has woken; what woke it is not handled yet. */
    kRLRunLoopExit = 1 << 7,             /**< A run ends. Once per run. */
    kRLRunLoopAllActivities = 0x0FFFFFFF /**< All of them, and those of later versions. */
};

/** What an observer carries. Every pointer may be NULL. */
typedef struct RLRunLoopObserverContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Handed to the callback. */
    /** Called once, in Create; what it returns is the observer's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the observer becomes invalid or is freed, on the thread that does it (if the callback is
     *  running on another thread: on that one, when it returns). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopObserverContext;

/** An observer's callback. May run the loop again; it is then not called by that run.
 *  @param observer  whose callback it is; held by the library during the call.
 *  @param activity  one activity.
 *  @param info      that of the context. */
typedef void (*RLRunLoopObserverCallBack)(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info);

/** Tells the kind of observers, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLRunLoopObserverGetTypeID(void);

/** Creates an observer that is not yet in any loop.
 *  @param allocator   NULL.
 *  @param activities  a set of activities, or'ed; bits of no activity are ignored. 0: it is never called.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower is called first; equal orders as they came into the mode.
 *  @param callout     not NULL; called on the loop's thread.
 *  @param context     may be NULL: info is then NULL. Copied.
 *  @return the observer, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the observer is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a NULL callout or a version other than 0 is reported and gives NULL.
 *  Cost: one allocation, no system call.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLRunLoopObserverRef RLRunLoopObserverCreate(RLAllocatorRef allocator, RLOptionFlags activities,
                                                       RLBoolean repeats, RLIndex order,
                                                       RLRunLoopObserverCallBack callout,
                                                       RLRunLoopObserverContext *context);

/** Tells the activities with which an observer was created.
 *  @param observer  not NULL.
 *  @return the set, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLOptionFlags RLRunLoopObserverGetActivities(RLRunLoopObserverRef observer);

/** Tells whether an observer is called more than once.
 *  @param observer  not NULL.
 *  @return 1 if it was created with repeats, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLBoolean RLRunLoopObserverDoesRepeat(RLRunLoopObserverRef observer);

/** Tells the order with which an observer was created.
 *  @param observer  not NULL.
 *  @return the order, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLIndex RLRunLoopObserverGetOrder(RLRunLoopObserverRef observer);

/** Ends an observer: takes it out of its loop, for good, and releases info.
 *  Invalidated in its own callback it hears no further activity of that run, not even Exit; info is released at once,
 *  so the callback must not use it any more unless somebody else holds it. A second call has no effect.
 *  @param observer  not NULL.
 *  Ownership: the loop releases the observer, context.release runs in this call; your ownership is untouched.
 *  Thread: any; a callback that runs on another thread is not waited for.
 *  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(modes that it is in), no system call.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT void RLRunLoopObserverInvalidate(RLRunLoopObserverRef observer);

/** Tells whether an observer can still be called.
 *  @param observer  not NULL.
 *  @return 1 if it is valid; 0 if it was invalidated, or did not repeat and was called.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT RLBoolean RLRunLoopObserverIsValid(RLRunLoopObserverRef observer);

/** Copies the context of an observer.
 *  @param observer  not NULL. If it is invalid, info is NULL.
 *  @param context   not NULL; set its version to 0 before the call.
 *  Ownership: info is not retained for you.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object or another version is reported, and nothing is written.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/loop-observer.c */
RL_EXPORT void RLRunLoopObserverGetContext(RLRunLoopObserverRef observer, RLRunLoopObserverContext *context);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: an observer's callback whose info is a block. The block is held: it may invalidate its observer. */
static inline void RLRunLoopObserverCallBlock(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    void *held = _Block_copy(info);
    ((void (^)(RLRunLoopObserverRef, RLRunLoopActivity))held)(observer, activity);
    _Block_release(held);
}

/** Creates an observer that calls a block: RLRunLoopObserverCreate() with the block as info.
 *  @param allocator   NULL.
 *  @param activities  a set of activities, or'ed.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower is called first.
 *  @param block       not NULL; copied, and released when the observer becomes invalid.
 *  @return the observer, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: as RLRunLoopObserverCreate(); a NULL block is reported as a NULL callout.
 *  Cost: that of RLRunLoopObserverCreate() and of copying the block.  Since: 0.1.  Example: examples/blocks.c */
static inline RLRunLoopObserverRef
RLRunLoopObserverCreateWithHandler(RLAllocatorRef allocator, RLOptionFlags activities, RLBoolean repeats, RLIndex order,
                                   void (^block)(RLRunLoopObserverRef observer, RLRunLoopActivity activity))
{
    RLRunLoopObserverContext context = {0, (void *)block, RLBlockRetain, RLBlockRelease, NULL};
    if (block == NULL)
        return RLRunLoopObserverCreate(allocator, activities, repeats, order, NULL, NULL);
    return RLRunLoopObserverCreate(allocator, activities, repeats, order, RLRunLoopObserverCallBlock, &context);
}
#endif

RL_EXTERN_C_END
#endif
