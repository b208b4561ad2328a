/** @file RLRunLoopTimer.h
 *  Timers: functions that a run loop calls at a given time, once or again and again.
 *
 *  Life cycle
 *  ----------
 *  Create with a first date, add to modes of one loop, and at the end invalidate. A timer that does not repeat is
 *  invalidated by the library after its call; it is still valid in that call. One that shall be used again and again,
 *  each time for one call (a timeout that each event puts off), is made by RLRunLoopTimerCreateRearmable(). While it
 *  is in one loop it cannot be added to another. Info is retained once in Create and released when the timer becomes
 *  invalid or, if it never does, is freed. A timer is called only while its loop runs in one of the timer's modes. If
 *  it was due before, it is called in the first pass of the next such run. Timers do not count as a source for
 *  returnAfterSourceHandled, but keep a mode running.
 *
 *  Order
 *  -----
 *  All timers that are due are called in one pass, earlier dates first; those of one date in the order in which they
 *  were added to the loop. A timer whose date is set, be it to the date it has, or that goes on with its grid after a
 *  call, comes behind those that have the date already. One that is added to further modes keeps its place.
 *
 *  Lateness
 *  --------
 *  A timer is never called before its date. It is called late by
 *  - what the loop does at that time: one thread does all the work, and a callback that takes long delays all others;
 *  - the way from the kernel to the thread: some tens of microseconds, more on a busy machine;
 *  - its tolerance, if that lets one wake-up serve several timers: see RLRunLoopTimerSetTolerance().
 *  A repeating timer keeps its grid: first date plus a multiple of the interval, whatever the lateness of the calls. If
 *  the loop comes so late that several calls were missed, the timer is called once, and next at the first point of the
 *  grid that lies ahead: with 0.1 s and a callback that takes 0.25 s, at 0.1, 0.4, 0.7. A first date in the past counts
 *  as now: one call at once, and the grid from then on.
 *
 *  Clocks and limits
 *  -----------------
 *  Dates are wall-clock time, but deadlines are kept on CLOCK_MONOTONIC: a date is translated once, when the timer is
 *  added or its date is set. If the wall clock is set later, a timer keeps its distance, not its date. Time in which
 *  the machine is suspended does not count. Resolution is a nanosecond inside, and about a tenth of a microsecond in a
 *  date, which is a double. Dates and intervals are clamped to 4039289856 (128 years: 1873 and 2129); HUGE_VAL is
 *  "never". One queue per loop: adding, removing and changing a timer takes O(log timers), measured with a million.
 *
 *  Deliberate differences from CFRunLoopTimer (the list in RLRunLoop.h has them all)
 *  -------------------------------------------------------------------------------
 *  4. Tolerances work. CF on Linux ignores them and reads 0.
 *  7. No thread and no timerfd per timer or mode. CF uses one timerfd per mode and O(timers) to add one.
 *  15. Due timers are called in the order of their dates, be these past when they are set. (A repeating timer's date
 *      that is past counts as now.) CF calls those that were past in the order in which they were set, and those that
 *      have one date that lay ahead in any order: it adds the jitter of two clocks to each.
 *  A NaN date or interval is reported and gives NULL. CF aborts. */
#ifndef RUNLOOP_RLRUNLOOPTIMER_H
#define RUNLOOP_RLRUNLOOPTIMER_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** What a timer carries. Every pointer may be NULL. */
typedef struct RLRunLoopTimerContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Handed to the callback. */
    /** Called in Create; what it returns is the timer's info. Called around each callback too, as in CF, so that
     *  an invalidation meanwhile does not take info away. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called when the timer becomes invalid or is freed, on the thread that does it (if the callback is running
     *  on another thread: on that one, when it returns), and after each callback for which retain was called. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopTimerContext;

/** A timer's callback. May run the loop again; that run does not call this timer, but the others.
 *  @param timer  whose callback it is; held by the library during the call.
 *  @param info   that of the context. */
typedef void (*RLRunLoopTimerCallBack)(RLRunLoopTimerRef timer, void *info);

/** Tells the kind of timers, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLRunLoopTimerGetTypeID(void);

/** Creates a timer that is not yet in any loop.
 *  The first call happens at or after fireDate, never before it: see "Lateness".
 *  @param allocator  NULL.
 *  @param fireDate   seconds since 2001-01-01 00:00 UTC: RLAbsoluteTimeGetCurrent() + delay. A past date, also 0: the
 *                    next pass. HUGE_VAL: never, until RLRunLoopTimerSetNextFireDate().
 *  @param interval   seconds between calls. 0 or negative: once. Missed calls are skipped, not queued.
 *  @param flags      0; ignored.
 *  @param order      only stored; timers are called by date.
 *  @param callout    not NULL; called on the loop's thread.
 *  @param context    may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the timer is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a NULL callout, a NaN, or a version other than 0 is reported and gives NULL.
 *  Cost: one allocation, no system call.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreate(RLAllocatorRef allocator, RLAbsoluteTime fireDate,
                                                 RLTimeInterval interval, RLOptionFlags flags, RLIndex order,
                                                 RLRunLoopTimerCallBack callout, RLRunLoopTimerContext *context);

/** Creates a timer with its first call so many seconds from now, that is not yet in any loop.
 *  RLRunLoopTimerCreate() with a date that is RLAbsoluteTimeGetCurrent() + delay.
 *  @param allocator  NULL.
 *  @param delay      seconds from this call on, not from the adding. 0 or negative: the next pass. HUGE_VAL: never.
 *  @param interval   seconds between calls. 0 or negative: once.
 *  @param callout    not NULL; called on the loop's thread.
 *  @param context    may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the timer is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a NULL callout, a NaN, or a version other than 0 is reported and gives NULL.
 *  Cost: that of RLRunLoopTimerCreate() and of RLAbsoluteTimeGetCurrent().  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateWithDelay(RLAllocatorRef allocator, RLTimeInterval delay,
                                                          RLTimeInterval interval, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Creates a timer that is called once each time it is armed, and stays valid and in its loop after the call.
 *  It begins disarmed. RLRunLoopTimerSetNextFireDelay() or RLRunLoopTimerSetNextFireDate() arms it, also before an
 *  earlier date was reached, which is then forgotten, and also in its own callback; with HUGE_VAL they disarm it. Armed
 *  or not, it keeps its modes from being empty. It does not repeat: its interval is 0. Invalidate it at the end.
 *  @param allocator  NULL.
 *  @param callout    not NULL; called on the loop's thread.
 *  @param context    may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until the timer is invalid.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a NULL callout or a version other than 0 is reported and gives NULL.
 *  Cost: as a repeating timer.  Since: 0.1.  Example: examples/timeout.c */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateRearmable(RLAllocatorRef allocator, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Tells when a timer is called next, without its tolerance.
 *  @param timer  not NULL.
 *  @return the date as set and clamped, or the next point of its grid to a microsecond; 0.0 if the timer is invalid. It
 *  lies in the past if the call is overdue.
 *  Ownership: none changes.  Thread: any.
 *  Re-entrancy: allowed in callbacks; in its own callback it is the date of this call, until changed.
 *  Errors: NULL or another kind of object is reported and gives 0.0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLAbsoluteTime RLRunLoopTimerGetNextFireDate(RLRunLoopTimerRef timer);

/** Sets when a timer is called next. A repeating timer gets a new grid from this date on, or from now if it is past.
 *  Much cheaper than a new timer. In the callback of a repeating timer it wins over the grid; a timer that does not
 *  repeat is not revived by it in its own callback. On an invalid timer it has no effect.
 *  @param timer     not NULL; in a loop or not.
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC; a past date: the next pass. HUGE_VAL: never.
 *  Ownership: none changes.  Thread: any; a sleeping loop takes notice.  Re-entrancy: allowed in callbacks, also its
 *  own.
 *  Errors: NULL, another kind of object or NaN is reported, and nothing is changed.
 *  Cost: O(log timers), no allocation; a wake-up if the loop sleeps and must now wake earlier.  Since: 0.1.
 *  Example: examples/timers.c */
RL_EXPORT void RLRunLoopTimerSetNextFireDate(RLRunLoopTimerRef timer, RLAbsoluteTime fireDate);

/** Sets when a timer is called next, in seconds from now: RLRunLoopTimerSetNextFireDate() with a date that is
 *  RLAbsoluteTimeGetCurrent() + delay.
 *  @param timer  not NULL; in a loop or not.
 *  @param delay  seconds from now; 0 or negative: the next pass. HUGE_VAL: never.
 *  Ownership: none changes.  Thread: any; a sleeping loop takes notice.  Re-entrancy: allowed in callbacks, also its
 *  own.
 *  Errors: NULL, another kind of object or NaN is reported, and nothing is changed.
 *  Cost: that of RLRunLoopTimerSetNextFireDate() and of RLAbsoluteTimeGetCurrent().  Since: 0.1.
 *  Example: examples/timeout.c */
RL_EXPORT void RLRunLoopTimerSetNextFireDelay(RLRunLoopTimerRef timer, RLTimeInterval delay);

/** Tells the interval of a repeating timer.
 *  @param timer  not NULL.
 *  @return seconds; 0 if it does not repeat, or on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetInterval(RLRunLoopTimerRef timer);

/** Tells whether a timer was created with an interval above 0.
 *  @param timer  not NULL.
 *  @return 1 if it repeats, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLBoolean RLRunLoopTimerDoesRepeat(RLRunLoopTimerRef timer);

/** Tells the order with which a timer was created. It has no effect: timers are called by date.
 *  @param timer  not NULL.
 *  @return the order, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLIndex RLRunLoopTimerGetOrder(RLRunLoopTimerRef timer);

/** Ends a timer: takes it out of its loop, for good, and releases info.
 *  It is not called any more, even if it is due. In its own callback info is released at once, so the callback must not
 *  use it any more unless somebody else holds it. A second call has no effect.
 *  @param timer  not NULL.
 *  Ownership: the loop releases the timer, context.release runs in this call; your ownership is untouched.
 *  Thread: any; ends another thread's run whose mode is empty now. A callback that runs on another thread is not waited
 *  for.
 *  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is done.
 *  Cost: O(log timers), no system call but to wake another thread's loop that has nothing else.  Since: 0.1.
 *  Example: examples/timers.c */
RL_EXPORT void RLRunLoopTimerInvalidate(RLRunLoopTimerRef timer);

/** Tells whether a timer can still be called.
 *  @param timer  not NULL.
 *  @return 1 if it is valid; 0 if it was invalidated, or did not repeat and was called.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLBoolean RLRunLoopTimerIsValid(RLRunLoopTimerRef timer);

/** Copies the context of a timer.
 *  @param timer    not NULL. If it is invalid, info is NULL.
 *  @param context  not NULL; set its version to 0 before the call.
 *  Ownership: info is not retained for you.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object or another version is reported, and nothing is written.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT void RLRunLoopTimerGetContext(RLRunLoopTimerRef timer, RLRunLoopTimerContext *context);

/** Tells how much later than its date a timer may be called.
 *  @param timer  not NULL.
 *  @return seconds, as set and clamped; 0 if never set or on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetTolerance(RLRunLoopTimerRef timer);

/** Allows a timer to be called later than its date, so that one wake-up of the thread can serve several timers.
 *  The grid of a repeating timer does not move by it. A tenth of the interval is a good value.
 *  @param timer      not NULL.
 *  @param tolerance  seconds; negative is taken as 0. At most half the interval for a repeating timer. 0 is the
 *                    default: as punctual as the machine allows.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks, also its own.
 *  Errors: NULL or another kind of object is reported, and nothing is changed; NaN is reported and taken as 0.
 *  Cost: O(log timers), no system call.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT void RLRunLoopTimerSetTolerance(RLRunLoopTimerRef timer, RLTimeInterval tolerance);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: a timer's callback whose info is a block. The block is held: it may invalidate its timer. */
static inline void RLRunLoopTimerCallBlock(RLRunLoopTimerRef timer, void *info)
{
    void *held = _Block_copy(info);
    ((void (^)(RLRunLoopTimerRef))held)(timer);
    _Block_release(held);
}

/** Creates a timer that calls a block: RLRunLoopTimerCreate() with the block as info.
 *  @param allocator  NULL.
 *  @param fireDate   seconds since 2001-01-01 00:00 UTC; a past date: the next pass.
 *  @param interval   seconds between calls. 0 or negative: once.
 *  @param flags      0; ignored.
 *  @param order      only stored.
 *  @param block      not NULL; copied, and released when the timer becomes invalid.
 *  @return the timer, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: as RLRunLoopTimerCreate(); a NULL block is reported as a NULL callout.
 *  Cost: that of RLRunLoopTimerCreate() and of copying the block.  Since: 0.1.  Example: examples/blocks.c */
static inline RLRunLoopTimerRef RLRunLoopTimerCreateWithHandler(RLAllocatorRef allocator, RLAbsoluteTime fireDate,
                                                                RLTimeInterval interval, RLOptionFlags flags,
                                                                RLIndex order, void (^block)(RLRunLoopTimerRef timer))
{
    RLRunLoopTimerContext context = {0, (void *)block, RLBlockRetain, RLBlockRelease, NULL};
    if (block == NULL)
        return RLRunLoopTimerCreate(allocator, fireDate, interval, flags, order, NULL, NULL);
    return RLRunLoopTimerCreate(allocator, fireDate, interval, flags, order, RLRunLoopTimerCallBlock, &context);
}
#endif

RL_EXTERN_C_END
#endif
