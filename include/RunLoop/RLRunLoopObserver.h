/** @file RLRunLoopObserver.h
 *  Observers: functions that a run loop calls at fixed points of its pass.
 *  Examples: examples/loop-observer.c, examples/values.c
 *
 *  An observer is for work that belongs to a certain point of the loop rather than to an event: flushing collected
 *  output before the thread sleeps, measuring how long it slept, preparing and cleaning up around a run. The points are
 *  the activities below; RLRunLoop.h, "One run, step by step", says where they are. The observers of one activity are
 *  called on the loop's thread, in ascending order, those of equal order as they were added to the mode. Observers
 *  alone do not keep a mode running.
 *
 *  Life cycle
 *  ----------
 *  Create an observer, add it to modes of one loop, and finally invalidate it. A non-repeating observer is invalidated
 *  by the library after its first callback; it is still valid during that callback. An observer that is in one loop
 *  cannot be added to another. Info is retained once in Create and released when the observer becomes invalid or, if
 *  that never happens, when it is freed.
 *
 *  Idle work
 *  ---------
 *  BeforeWaiting does not promise that the thread will sleep: as in CF, a timer may be due, and another thread may have
 *  queued a function. Work that must wait until nothing else is due (libuv's uv_idle_t, GLib's g_idle_add()) first
 *  checks that, and does a part of its work if nothing is. As long as there is work left, it wakes its own loop in
 *  either case: the next pass handles what is due, and comes back here.
 *
 *      static void idle(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
 *      {
 *          if (!has_work(info))
 *              return;
 *          if (RLRunLoopIsIdleInMode(kRLRunLoopDefaultMode))
 *              work_a_little(info);
 *          RLRunLoopWakeUp(RLRunLoopGetCurrent());
 *      }
 *
 *  What not to expect
 *  ------------------
 *  The time between an activity and the event that follows it is not fixed: callbacks run in between. In a run of 0
 *  seconds, and in a pass in which a version-0 source performed, the loop does not sleep, and there is neither
 *  BeforeWaiting nor AfterWaiting. A run in an empty mode calls no observer at all, not even for Entry and Exit. An
 *  observer whose callback runs the loop is skipped in that nested run; it is called again in runs that are nested in
 *  other callbacks.
 *
 *  Deliberate difference from CFRunLoopObserver (the list in RLRunLoop.h has them all)
 *  -----------------------------------------------------------------------------------
 *  0. A version-1 source that is ready when the loop reaches step 5 is handled without BeforeWaiting and AfterWaiting.
 *     CF notifies both. So a pass with a ready version-1 source has neither, and while one stays ready no pass has.
 *     Work that must be done in every pass, such as committing a transaction or draining a pool, belongs in
 *     BeforeTimers and Exit; idle work, which may wait until nothing is ready, in BeforeWaiting. */
#ifndef RUNLOOP_RLRUNLOOPOBSERVER_H
#define RUNLOOP_RLRUNLOOPOBSERVER_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** One activity, in a callback; or a set of activities, in RLRunLoopObserverCreate(). */
typedef RLOptionFlags RLRunLoopActivity;
/** The activities. */
enum {
    kRLRunLoopEntry = 1 << 0,            /**< A run begins. Notified once per run. */
    kRLRunLoopBeforeTimers = 1 << 1,     /**< A pass begins. */
    kRLRunLoopBeforeSources = 1 << 2,    /**< Functions and version-0 sources are about to run. */
    kRLRunLoopBeforeWaiting = 1 << 5,    /**< The thread is about to sleep. */
    kRLRunLoopAfterWaiting = 1 << 6,     /**< The thread has woken; what woke it has not been handled yet. */
    kRLRunLoopExit = 1 << 7,             /**< A run ends. Notified once per run. */
    kRLRunLoopAllActivities = 0x0FFFFFFF /**< All activities, including those of later versions. */
};

/** The info and callbacks that an observer carries. Every pointer may be NULL. */
typedef struct RLRunLoopObserverContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the observer's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the observer becomes invalid or is freed, on the thread that does this (if another thread is
     *  running the callback: on that thread, when the callback returns). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopObserverContext;

/** The callback of an observer. It may run the loop again; that run does not call it.
 *  @param observer  the observer; retained by the library during the callback.
 *  @param activity  the activity, a single one.
 *  @param info      the observer's info. */
typedef void (*RLRunLoopObserverCallBack)(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info);

/** Returns the type ID of observers, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopObserverGetTypeID(void);

/** Creates an observer that is not yet in any loop.
 *  @param activities  the activities to observe, ORed together; unknown bits are ignored. 0: the observer is never
 *                     called.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower orders are called first, equal orders as they were added to the mode.
 *  @param callout     called on the loop's thread. NULL: nothing is called, as in CF.
 *  @param context     may be NULL: info is then NULL. Copied.
 *  @return the observer, or NULL.
 *  Ownership: info is retained through context.retain until the observer is invalid.
 *  Re-entrancy: calls context.retain. */
RL_EXPORT RLRunLoopObserverRef RLRunLoopObserverCreate(RLAllocatorRef allocator, RLOptionFlags activities,
                                                       RLBoolean repeats, RLIndex order,
                                                       RLRunLoopObserverCallBack callout,
                                                       RLRunLoopObserverContext *context);

/** Returns the set of activities with which an observer was created. */
RL_EXPORT RLOptionFlags RLRunLoopObserverGetActivities(RLRunLoopObserverRef observer);

/** Returns whether an observer was created to be called more than once. */
RL_EXPORT RLBoolean RLRunLoopObserverDoesRepeat(RLRunLoopObserverRef observer);

/** Returns the order with which an observer was created. */
RL_EXPORT RLIndex RLRunLoopObserverGetOrder(RLRunLoopObserverRef observer);

/** Invalidates an observer: removes it from its loop, permanently, and releases info.
 *  An observer that is invalidated in its own callback is notified of no further activity of that run, not even Exit;
 *  info is released at once, so the callback must not use info after that unless it holds a reference of its own. A
 *  callback that is running on another thread is not waited for. A second call has no effect.
 *  Ownership: the loop releases the observer; your reference stays.  Re-entrancy: calls context.release.
 *  Cost: O(modes and observers of its loop). */
RL_EXPORT void RLRunLoopObserverInvalidate(RLRunLoopObserverRef observer);

/** Returns whether an observer is valid: it was not invalidated, and it repeats or was not yet called. */
RL_EXPORT RLBoolean RLRunLoopObserverIsValid(RLRunLoopObserverRef observer);

/** Copies the context of an observer. If the observer is invalid, info is NULL.
 *  @param context  set its version to 0 before the call.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopObserverGetContext(RLRunLoopObserverRef observer, RLRunLoopObserverContext *context);

/** Returns whether the calling thread's loop would sleep if it reached step 7 in a mode now. See "Idle work".
 *  It would if no function is queued, no version-0 source is signalled, no timer is due (unless its tolerance lets it
 *  wait), no descriptor is ready, and the loop was not woken. 0 is also returned if only a pass can find out, for
 *  example when a signalled source has been removed or is in several loops. 0 does not mean that a pass follows: a
 *  signal alone wakes no loop.
 *  @param mode  a single mode, usually the one that is running.
 *  Cost: O(distinct sets of modes that items are in); a system call if the mode has descriptors. */
RL_EXPORT RLBoolean RLRunLoopIsIdleInMode(RLRunLoopMode mode);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: the callback of an observer whose info is a block. The block is retained during the call, since it may
 *  invalidate its observer. */
static inline void RLRunLoopObserverCallBlock(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    void *held = _Block_copy(info);
    ((void (^)(RLRunLoopObserverRef, RLRunLoopActivity))held)(observer, activity);
    _Block_release(held);
}

/** Creates an observer that calls a block: RLRunLoopObserverCreate() with the block as info.
 *  @param activities  the activities to observe, ORed together.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower orders are called first.
 *  @param block       not NULL; copied, and released when the observer becomes invalid.
 *  @return the observer, or NULL.
 *  Cost: that of RLRunLoopObserverCreate() and of copying the block.  Example: examples/blocks.c */
static inline RLRunLoopObserverRef
RLRunLoopObserverCreateWithHandler(RLAllocatorRef allocator, RLOptionFlags activities, RLBoolean repeats, RLIndex order,
                                   void (^block)(RLRunLoopObserverRef observer, RLRunLoopActivity activity))
{
    RLRunLoopObserverContext context = {0, (void *)block, RLBlockRetain, RLBlockRelease, NULL};
    if (block == NULL) {
        RLReportError("RLRunLoopObserverCreateWithHandler", "block", "expected a block, got NULL", 1);
        return NULL;
    }
    return RLRunLoopObserverCreate(allocator, activities, repeats, order, RLRunLoopObserverCallBlock, &context);
}
#endif

RL_EXTERN_C_END
#endif
