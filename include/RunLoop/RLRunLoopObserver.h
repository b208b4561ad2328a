/** @file RLRunLoopObserver.h
 *  Observers: functions that a run loop calls at fixed points of its pass.
 *  Examples: examples/loop-observer.c, examples/values.c
 *
 *  An observer is for what must happen at a certain point of the loop rather than on an event: flush collected output
 *  before the thread sleeps, measure how long it slept, prepare and clean up around a run. The points are the
 *  activities below; RLRunLoop.h, "One run, step by step", says where they are. The observers of one activity are
 *  called on the loop's thread, in ascending order, equal orders as they were added to the mode. Observers alone do not
 *  keep a mode running.
 *
 *  Life cycle
 *  ----------
 *  Create, add to modes of one loop, and at the end invalidate. A non-repeating observer is invalidated by the library
 *  after its first call; it is still valid in that call. An observer that is in one loop cannot be added to another.
 *  Info is retained once in Create and released when the observer becomes invalid or, if it never does, is freed.
 *
 *  Idle work
 *  ---------
 *  BeforeWaiting does not promise that the thread will sleep: as in CF, a timer may be due, and another thread may
 *  have queued a function. What must wait until nothing else is due (libuv's uv_idle_t, GLib's g_idle_add()) asks
 *  first, and does a part of the work if nothing is. As long as there is work, it wakes its own loop in either case:
 *  the next pass does what is due, and comes here again.
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
 *  seconds, and in a pass in which a version-0 source has performed, the loop does not sleep, and there is neither
 *  BeforeWaiting nor AfterWaiting. A run in an empty mode calls no observer at all, not even for Entry and Exit. An
 *  observer whose callback runs the loop is skipped in that nested run; it is called again in runs that are nested in
 *  other callbacks.
 *
 *  Deliberate difference from CFRunLoopObserver (the list in RLRunLoop.h has them all)
 *  -----------------------------------------------------------------------------------
 *  0. A version-1 source that is ready when the loop comes to it is handled without BeforeWaiting and AfterWaiting. CF
 *     notifies both. So a pass with a ready version-1 source has neither, and while one stays ready no pass has. Work
 *     that must be done in every pass, such as committing a transaction or draining a pool, belongs in BeforeTimers and
 *     Exit; idle work, which may wait until nothing is ready, in BeforeWaiting. */
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
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the observer's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the observer becomes invalid or is freed, on the thread that does it (if the callback is
     *  running on another thread: on that one, when it returns). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopObserverContext;

/** An observer's callback. May run the loop again; that run does not call it.
 *  @param observer  the observer; retained by the library during the call.
 *  @param activity  one activity.
 *  @param info      that of the context. */
typedef void (*RLRunLoopObserverCallBack)(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info);

/** Returns the kind of observers, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopObserverGetTypeID(void);

/** Creates an observer that is not yet in any loop.
 *  @param activities  a set of activities, or'ed; bits of no activity are ignored. 0: it is never called.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower is called first; equal orders as they were added to the mode.
 *  @param callout     not NULL; called on the loop's thread.
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

/** Ends an observer: removes it from its loop, for good, and releases info.
 *  If it is invalidated in its own callback, it is notified of no further activity of that run, not even Exit; info is
 *  released at once, so the callback must not use it any more unless it holds a reference of its own. Does not wait for
 *  a callback that is running on another thread. A second call has no effect.
 *  Ownership: the loop releases the observer; your reference stays.  Re-entrancy: calls context.release.
 *  Cost: O(modes that it is in). */
RL_EXPORT void RLRunLoopObserverInvalidate(RLRunLoopObserverRef observer);

/** Returns whether an observer can still be called: it was not invalidated, and repeats or was not called. */
RL_EXPORT RLBoolean RLRunLoopObserverIsValid(RLRunLoopObserverRef observer);

/** Copies the context of an observer. If that is invalid, info is NULL.
 *  @param context  set its version to 0 before the call.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopObserverGetContext(RLRunLoopObserverRef observer, RLRunLoopObserverContext *context);

/** Returns whether the calling thread's loop would sleep if it came to step 7 in a mode now. See "Idle work".
 *  It would if no function is queued, no version-0 source signalled, no timer due, unless its tolerance lets it wait,
 *  no descriptor ready, and the loop was not woken. 0 also if only a pass can find out, as when what was signalled has
 *  been removed, or is a source of several loops. 0 does not mean that a pass follows: a signal alone wakes no loop.
 *  @param mode  a single mode, as a rule the one that runs.
 *  Cost: O(sets of modes); a system call if the mode has descriptors. */
RL_EXPORT RLBoolean RLRunLoopIsIdleInMode(RLRunLoopMode mode);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: an observer's callback whose info is a block. The block is retained: it may invalidate its observer. */
static inline void RLRunLoopObserverCallBlock(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    void *held = _Block_copy(info);
    ((void (^)(RLRunLoopObserverRef, RLRunLoopActivity))held)(observer, activity);
    _Block_release(held);
}

/** Creates an observer that calls a block: RLRunLoopObserverCreate() with the block as info.
 *  @param activities  a set of activities, or'ed.
 *  @param repeats     1: called until it is invalidated. 0: called once.
 *  @param order       lower is called first.
 *  @param block       not NULL; copied, and released when the observer becomes invalid.
 *  @return the observer, or NULL.
 *  Cost: that of RLRunLoopObserverCreate() and of copying the block.  Example: examples/blocks.c */
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
