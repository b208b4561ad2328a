/** @file RLRunLoopTimer.h
 *  Timers: functions that a run loop calls at a given time, once or repeatedly.
 *  Examples: examples/timers.c, examples/timeout.c, examples/values.c
 *
 *  Life cycle
 *  ----------
 *  Create a timer with a first date, add it to modes of one loop, and finally invalidate it. A timer that does not
 *  repeat is invalidated by the library after its callback, unless it is rearmable; it is still valid during that
 *  callback. For a timer that is used again and again, each time for one call (such as a timeout that every event
 *  postpones), use RLRunLoopTimerCreateRearmable(). A timer that is in one loop cannot be added to another. Info is
 *  retained once in Create and released when the timer becomes invalid or, if that never happens, when it is freed. A
 *  timer is called only while its loop runs in one of the timer's modes. If it became due earlier, it is called in the
 *  first pass of the next such run. Timers do not count as a source for returnAfterSourceHandled, but keep a mode
 *  running.
 *
 *  Order
 *  -----
 *  All timers that are due are called in one pass, earlier dates first; those with the same date in the order in which
 *  they were added to the loop. A timer whose date is set, even to the date that it has already, or that continues its
 *  grid after a call goes behind those that already have that date. Adding it to further modes does not change its
 *  turn.
 *
 *  Lateness
 *  --------
 *  A timer is never called before its date. It is called late because of
 *  - what the loop is doing at that time: one thread does all the work, and a slow callback delays all others;
 *  - the path from the kernel to the thread: some tens of microseconds, more on a busy machine;
 *  - its tolerance, if that lets one wake-up serve several timers: see RLRunLoopTimerSetTolerance().
 *  While a run sleeps for a timer, the thread's timer slack is 1 ns; its original value is restored when the outermost
 *  run ends. A repeating timer keeps its grid, the first date plus multiples of the interval, however late the calls
 *  are. If the loop is so late that several calls were missed, the timer is called once, and next at the first point of
 *  the grid in the future: with an interval of 0.1 s and a callback that takes 0.25 s, at 0.1, 0.4, 0.7. A first date
 *  in the past counts as now: the timer is called once immediately, and the grid begins then.
 *
 *  Clocks and limits
 *  -----------------
 *  Dates are wall-clock time, but deadlines are kept on CLOCK_MONOTONIC: a date is converted once, when the timer is
 *  added or its date is set. If the wall clock is set afterwards, the timer keeps its delay, not its date. Time during
 *  which the machine is suspended does not count. The resolution is a nanosecond internally, and about a tenth of a
 *  microsecond in a date, which is a double. Dates and intervals are clamped to 4039289856 (128 years: 1873 and 2129);
 *  HUGE_VAL means "never". Adding, removing and changing a timer take at most O(log timers). A NaN date or interval is
 *  misuse.
 *
 *  Deliberate differences from CFRunLoopTimer (the list in RLRunLoop.h has them all)
 *  ---------------------------------------------------------------------------------
 *  4. Tolerances work. CF on Linux ignores them and returns 0.
 *  7. There is no thread and no timerfd per timer or mode. CF uses one timerfd per mode, and adding a timer is
 *     O(timers).
 *  15. Due timers are called by date, also by dates that were in the past when they were set, except for those of
 *      repeating timers (which count as now). CF calls timers with past dates in the order in which they were set,
 *      those with equal future dates in any order, and a due timer even after it was removed from the mode, if it is in
 *      another mode or was added again.
 *  A NaN date or interval is reported, and NULL is returned. CF aborts. */
#ifndef RUNLOOP_RLRUNLOOPTIMER_H
#define RUNLOOP_RLRUNLOOPTIMER_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** The info and callbacks that a timer carries. Every pointer may be NULL. */
typedef struct RLRunLoopTimerContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called in Create; what it returns is the timer's info. As in CF, it is also called before each callback, so that
     *  info outlives an invalidation during the callback. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called when the timer becomes invalid or is freed, on the thread that does this (if another thread is running
     *  the callback: on that thread, when the callback returns), and after each callback for which retain was
     *  called. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopTimerContext;

/** The callback of a timer. It may run the loop again; that run calls other timers, but not this one.
 *  @param timer  the timer; retained by the library during the callback.
 *  @param info   the timer's info. */
typedef void (*RLRunLoopTimerCallBack)(RLRunLoopTimerRef timer, void *info);

/** Returns the type ID of timers, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopTimerGetTypeID(void);

/** Creates a timer that is not yet in any loop. It is first called at fireDate or later, never before: see "Lateness".
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC: RLAbsoluteTimeGetCurrent() + delay. A past date, such as 0: the
 *                   next pass. HUGE_VAL: never, until RLRunLoopTimerSetNextFireDate().
 *  @param interval  seconds between calls. 0 or negative: once. Missed calls are skipped, not queued.
 *  @param flags     0; ignored.
 *  @param order     only stored; timers are called by date.
 *  @param callout   called on the loop's thread. NULL: nothing is called, as in CF.
 *  @param context   may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreate(RLAllocatorRef allocator, RLAbsoluteTime fireDate,
                                                 RLTimeInterval interval, RLOptionFlags flags, RLIndex order,
                                                 RLRunLoopTimerCallBack callout, RLRunLoopTimerContext *context);

/** Creates a timer that is first called after a delay: RLRunLoopTimerCreate() with the date of now + delay.
 *  @param delay     seconds from this call, not from when the timer is added. 0 or negative: the next pass. HUGE_VAL:
 *                   never.
 *  @param interval  seconds between calls. 0 or negative: once.
 *  @param callout   not NULL; called on the loop's thread.
 *  @param context   may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateWithDelay(RLAllocatorRef allocator, RLTimeInterval delay,
                                                          RLTimeInterval interval, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Creates a timer that is called once each time it is armed, and stays valid and in its loop after the callback.
 *  It begins disarmed. RLRunLoopTimerSetNextFireDelay() or RLRunLoopTimerSetNextFireDate() arms it, also in its own
 *  callback, replacing an earlier date that has not been reached; with HUGE_VAL they disarm it. Armed or not, it keeps
 *  its modes from being empty. It does not repeat: its interval is 0. Invalidate it at the end.
 *  @param callout  not NULL; called on the loop's thread.
 *  @param context  may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateRearmable(RLAllocatorRef allocator, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Returns the date at which a timer is called next, without its tolerance; 0.0 if the timer is invalid.
 *  This is the date as set and clamped, or the next point of its grid to a microsecond. It is in the past if the call
 *  is overdue. In the timer's own callback it is the date of the current call, unless it was changed. */
RL_EXPORT RLAbsoluteTime RLRunLoopTimerGetNextFireDate(RLRunLoopTimerRef timer);

/** Sets the date at which a timer is called next. Much cheaper than creating a new timer.
 *  A repeating timer begins a new grid at this date, or now if the date is in the past. In the callback of a repeating
 *  timer the date takes precedence over the grid. It does not revive a timer that neither repeats nor is rearmable, and
 *  has no effect on an invalid timer.
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC; a past date: the next pass. HUGE_VAL: never.
 *  Cost: O(log timers); a system call if the loop sleeps and must now wake earlier. */
RL_EXPORT void RLRunLoopTimerSetNextFireDate(RLRunLoopTimerRef timer, RLAbsoluteTime fireDate);

/** Sets the delay after which a timer is called next: RLRunLoopTimerSetNextFireDate() with the date of now + delay.
 *  @param delay  seconds from now; 0 or negative: the next pass. HUGE_VAL: never.
 *  Cost: O(log timers); a system call if the loop sleeps and must now wake earlier. */
RL_EXPORT void RLRunLoopTimerSetNextFireDelay(RLRunLoopTimerRef timer, RLTimeInterval delay);

/** Returns the interval of a repeating timer in seconds; 0 if it does not repeat. */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetInterval(RLRunLoopTimerRef timer);

/** Returns whether a timer was created with an interval above 0. */
RL_EXPORT RLBoolean RLRunLoopTimerDoesRepeat(RLRunLoopTimerRef timer);

/** Returns the order with which a timer was created. The order has no effect: timers are called by date. */
RL_EXPORT RLIndex RLRunLoopTimerGetOrder(RLRunLoopTimerRef timer);

/** Invalidates a timer: removes it from its loop, permanently, and releases info.
 *  The timer is never called again, even if it is due. In its own callback info is released at once; if the context has
 *  no retain, the callback must not use info after that unless it holds a reference of its own. A callback that is
 *  running on another thread is not waited for. If this empties the mode of a run on another thread, that run ends. A
 *  second call has no effect.
 *  Ownership: the loop releases the timer; your reference stays.  Re-entrancy: calls context.release.
 *  Cost: O(log timers); a system call only to end such a run. */
RL_EXPORT void RLRunLoopTimerInvalidate(RLRunLoopTimerRef timer);

/** Returns whether a timer is valid: it was not invalidated, and it repeats, is rearmable or was not yet called. */
RL_EXPORT RLBoolean RLRunLoopTimerIsValid(RLRunLoopTimerRef timer);

/** Sets whether a timer keeps its modes from being empty.
 *  A timer that does not ("unreferenced", in libuv's term) is called as usual while something else keeps the run going;
 *  an example is a timer that prints statistics every second. Alone in a mode it is never called, since runs in an
 *  empty mode return immediately. If this empties the mode of a run on another thread, that run ends. CF has no such
 *  function.
 *  @param keeps  1, the state of a new timer, or 0. */
RL_EXPORT void RLRunLoopTimerSetKeepsModeRunning(RLRunLoopTimerRef timer, RLBoolean keeps);

/** Copies the context of a timer. If the timer is invalid, info is NULL.
 *  @param context  set its version to 0 before the call.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopTimerGetContext(RLRunLoopTimerRef timer, RLRunLoopTimerContext *context);

/** Returns how many seconds after its date a timer may be called, as set and clamped. */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetTolerance(RLRunLoopTimerRef timer);

/** Allows a timer to be called later than its date, so that one wake-up of the thread can serve several timers.
 *  This does not move the grid of a repeating timer. A tenth of the interval is a good value.
 *  @param tolerance  seconds; a negative number is taken as 0, and so is NaN, which is misuse. The maximum is half the
 *                    interval for a repeating timer, otherwise 4039289856. 0, the default: as punctual as possible.
 *  Cost: O(log timers); may allocate. */
RL_EXPORT void RLRunLoopTimerSetTolerance(RLRunLoopTimerRef timer, RLTimeInterval tolerance);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: the callback of a timer whose info is a block. The block is retained during the call, since it may
 *  invalidate its timer. */
static inline void RLRunLoopTimerCallBlock(RLRunLoopTimerRef timer, void *info)
{
    void *held = _Block_copy(info);
    ((void (^)(RLRunLoopTimerRef))held)(timer);
    _Block_release(held);
}

/** Creates a timer that calls a block: RLRunLoopTimerCreate() with the block as info.
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC; a past date: the next pass.
 *  @param interval  seconds between calls. 0 or negative: once.
 *  @param flags     0; ignored.
 *  @param order     only stored.
 *  @param block     not NULL; copied, and released when the timer becomes invalid.
 *  @return the timer, or NULL.
 *  Cost: that of RLRunLoopTimerCreate() and of copying the block.  Example: examples/blocks.c */
static inline RLRunLoopTimerRef RLRunLoopTimerCreateWithHandler(RLAllocatorRef allocator, RLAbsoluteTime fireDate,
                                                                RLTimeInterval interval, RLOptionFlags flags,
                                                                RLIndex order, void (^block)(RLRunLoopTimerRef timer))
{
    RLRunLoopTimerContext context = {0, (void *)block, RLBlockRetain, RLBlockRelease, NULL};
    if (block == NULL) {
        RLReportError("RLRunLoopTimerCreateWithHandler", "block", "expected a block, got NULL", 1);
        return NULL;
    }
    return RLRunLoopTimerCreate(allocator, fireDate, interval, flags, order, RLRunLoopTimerCallBlock, &context);
}
#endif

RL_EXTERN_C_END
#endif
