/** @file RLRunLoopTimer.h
 *  Timers: functions that a run loop calls at a given time, once or repeatedly.
 *  Examples: examples/timers.c, examples/timeout.c, examples/values.c
 *
 *  Life cycle
 *  ----------
 *  Create with a first date, add to modes of one loop, and at the end invalidate. A timer that does not repeat is
 *  invalidated by the library after its call, unless it is rearmable; it is still valid in that call. One that is used
 *  again and again, each time for one call (a timeout that each event puts off), is created by
 *  RLRunLoopTimerCreateRearmable(). A timer that is in one loop cannot be added to another. Info is retained once in
 *  Create and released when the timer becomes invalid or, if it never does, is freed. A timer is called only while its
 *  loop runs in one of the timer's modes. If it was due before, it is called in the first pass of the next such run.
 *  Timers do not count as a source for returnAfterSourceHandled, but keep a mode running.
 *
 *  Order
 *  -----
 *  All timers that are due are called in one pass, earlier dates first; those of one date in the order in which they
 *  were added to the loop. A timer whose date is set, be it to the date it has, or that continues its grid after a
 *  call, comes behind those that have the date already. Adding it to further modes does not change its turn.
 *
 *  Lateness
 *  --------
 *  A timer is never called before its date. It is called late because of
 *  - what the loop does at that time: one thread does all the work, and a callback that takes long delays all others;
 *  - the way from the kernel to the thread: some tens of microseconds, more on a busy machine;
 *  - its tolerance, if that lets one wake-up serve several timers: see RLRunLoopTimerSetTolerance().
 *  While a run sleeps for a timer, the thread's timer slack is 1 ns; its own is restored when the outermost run ends. A
 *  repeating timer keeps its grid: first date plus a multiple of the interval, whatever the lateness of the calls. If
 *  the loop is so late that several calls were missed, the timer is called once, and next at the first point of the
 *  grid that lies ahead: with 0.1 s and a callback that takes 0.25 s, at 0.1, 0.4, 0.7. A first date in the past counts
 *  as now: one call at once, and the grid from then on.
 *
 *  Clocks and limits
 *  -----------------
 *  Dates are wall-clock time, but deadlines are kept on CLOCK_MONOTONIC: a date is translated once, when the timer is
 *  added or its date is set. If the wall clock is set afterwards, a timer keeps its delay, not its date. Time in which
 *  the machine is suspended does not count. Resolution is a nanosecond inside, and about a tenth of a microsecond in a
 *  date, which is a double. Dates and intervals are clamped to 4039289856 (128 years: 1873 and 2129); HUGE_VAL is
 *  "never". Adding, removing and changing a timer take at most O(log timers). A NaN date or interval is misuse.
 *
 *  Deliberate differences from CFRunLoopTimer (the list in RLRunLoop.h has them all)
 *  ---------------------------------------------------------------------------------
 *  4. Tolerances work. CF on Linux ignores them and reads 0.
 *  7. No thread and no timerfd per timer or mode. CF uses one timerfd per mode and O(timers) to add one.
 *  15. Due timers are called by date, also by dates that were past when they were set, other than as a repeating
 *      timer's (that counts as now). CF calls past dates in the order of setting, and equal dates that lay ahead in any
 *      order; and a due timer also after it was removed from the mode, if it is in another one or was added again.
 *  A NaN date or interval is reported and returns NULL. CF aborts. */
#ifndef RUNLOOP_RLRUNLOOPTIMER_H
#define RUNLOOP_RLRUNLOOPTIMER_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** What a timer carries. Every pointer may be NULL. */
typedef struct RLRunLoopTimerContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called in Create; what it returns is the timer's info. Called around each callback too, as in CF, so that
     *  an invalidation meanwhile does not take info away. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called when the timer becomes invalid or is freed, on the thread that does it (if the callback is running
     *  on another thread: on that one, when it returns), and after each callback for which retain was called. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLRunLoopTimerContext;

/** A timer's callback. May run the loop again; that run calls other timers, but not this one.
 *  @param timer  the timer; retained by the library during the call.
 *  @param info   that of the context. */
typedef void (*RLRunLoopTimerCallBack)(RLRunLoopTimerRef timer, void *info);

/** Returns the kind of timers, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLRunLoopTimerGetTypeID(void);

/** Creates a timer that is not yet in any loop. The first call comes at or after fireDate, never before: see
 *  "Lateness".
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC: RLAbsoluteTimeGetCurrent() + delay. A past date, also 0: the
 *                   next pass. HUGE_VAL: never, until RLRunLoopTimerSetNextFireDate().
 *  @param interval  seconds between calls. 0 or negative: once. Missed calls are skipped, not queued.
 *  @param flags     0; ignored.
 *  @param order     only stored; timers are called by date.
 *  @param callout   not NULL; called on the loop's thread.
 *  @param context   may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreate(RLAllocatorRef allocator, RLAbsoluteTime fireDate,
                                                 RLTimeInterval interval, RLOptionFlags flags, RLIndex order,
                                                 RLRunLoopTimerCallBack callout, RLRunLoopTimerContext *context);

/** Creates a timer whose first call comes after a delay: RLRunLoopTimerCreate() with the date of now + delay.
 *  @param delay     seconds from this call, not from when it is added. 0 or negative: the next pass. HUGE_VAL: never.
 *  @param interval  seconds between calls. 0 or negative: once.
 *  @param callout   not NULL; called on the loop's thread.
 *  @param context   may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateWithDelay(RLAllocatorRef allocator, RLTimeInterval delay,
                                                          RLTimeInterval interval, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Creates a timer that is called once each time it is armed, and stays valid and in its loop after the call.
 *  It begins disarmed. RLRunLoopTimerSetNextFireDelay() or RLRunLoopTimerSetNextFireDate() arms it, also in its own
 *  callback, and replaces an earlier date that was not reached; with HUGE_VAL they disarm it. Armed or not, it keeps
 *  its modes from being empty. It does not repeat: its interval is 0. Invalidate it at the end.
 *  @param callout  not NULL; called on the loop's thread.
 *  @param context  may be NULL: info is then NULL. Copied.
 *  @return the timer, or NULL.
 *  Ownership: info is retained through context.retain until the timer is invalid.  Re-entrancy: calls
 *  context.retain. */
RL_EXPORT RLRunLoopTimerRef RLRunLoopTimerCreateRearmable(RLAllocatorRef allocator, RLRunLoopTimerCallBack callout,
                                                          RLRunLoopTimerContext *context);

/** Returns when a timer is called next, without its tolerance; 0.0 if the timer is invalid.
 *  The date is as set and clamped, or the next point of its grid to a microsecond. It lies in the past if the call is
 *  overdue. In its own callback it is the date of this call, until changed. */
RL_EXPORT RLAbsoluteTime RLRunLoopTimerGetNextFireDate(RLRunLoopTimerRef timer);

/** Sets when a timer is called next. Much cheaper than creating a new timer.
 *  A repeating timer gets a new grid from this date on, or from now if it is past. In the callback of a repeating timer
 *  it takes precedence over the grid; it does not revive a timer that neither repeats nor is rearmable. On an
 *  invalid timer it has no effect.
 *  @param fireDate  seconds since 2001-01-01 00:00 UTC; a past date: the next pass. HUGE_VAL: never.
 *  Cost: O(log timers); a system call if the loop sleeps and must now wake earlier. */
RL_EXPORT void RLRunLoopTimerSetNextFireDate(RLRunLoopTimerRef timer, RLAbsoluteTime fireDate);

/** Sets when a timer is called next: RLRunLoopTimerSetNextFireDate() with the date of now + delay.
 *  @param delay  seconds from now; 0 or negative: the next pass. HUGE_VAL: never.
 *  Cost: O(log timers); a system call if the loop sleeps and must now wake earlier. */
RL_EXPORT void RLRunLoopTimerSetNextFireDelay(RLRunLoopTimerRef timer, RLTimeInterval delay);

/** Returns the interval of a repeating timer in seconds; 0 if it does not repeat. */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetInterval(RLRunLoopTimerRef timer);

/** Returns whether a timer was created with an interval above 0. */
RL_EXPORT RLBoolean RLRunLoopTimerDoesRepeat(RLRunLoopTimerRef timer);

/** Returns the order with which a timer was created. It has no effect: timers are called by date. */
RL_EXPORT RLIndex RLRunLoopTimerGetOrder(RLRunLoopTimerRef timer);

/** Ends a timer: removes it from its loop, for good, and releases info.
 *  It is never called again, even if it is due. In its own callback info is released at once, so the callback must not
 *  use it any more unless it holds a reference of its own. Does not wait for a callback that is running on another
 *  thread. If this empties the mode of a run on another thread, that run ends. A second call has no effect.
 *  Ownership: the loop releases the timer; your reference stays.  Re-entrancy: calls context.release.
 *  Cost: O(log timers); a system call only to end such a run. */
RL_EXPORT void RLRunLoopTimerInvalidate(RLRunLoopTimerRef timer);

/** Returns whether a timer can still be called: it was not invalidated, and repeats, is rearmable or was not
 *  called. */
RL_EXPORT RLBoolean RLRunLoopTimerIsValid(RLRunLoopTimerRef timer);

/** Sets whether a timer keeps its modes from being empty.
 *  If not (libuv: it is "unreferenced"), it is called as ever while something else keeps the run going, such as for
 *  statistics every second; alone in a mode it is never called, as runs of an empty mode end at once. If this empties
 *  the mode of a run on another thread, that run ends. CF has no such function.
 *  @param keeps  1, as when it was created, or 0. */
RL_EXPORT void RLRunLoopTimerSetKeepsModeRunning(RLRunLoopTimerRef timer, RLBoolean keeps);

/** Copies the context of a timer. If that is invalid, info is NULL.
 *  @param context  set its version to 0 before the call.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLRunLoopTimerGetContext(RLRunLoopTimerRef timer, RLRunLoopTimerContext *context);

/** Returns how many seconds later than its date a timer may be called, as set and clamped. */
RL_EXPORT RLTimeInterval RLRunLoopTimerGetTolerance(RLRunLoopTimerRef timer);

/** Allows a timer to be called later than its date, so that one wake-up of the thread can serve several timers.
 *  This does not move the grid of a repeating timer. A tenth of the interval is a good value.
 *  @param tolerance  seconds; a negative number is taken as 0, and so is NaN, which is misuse. At most half the
 *                    interval for a repeating timer, else 4039289856. 0, the default: as punctual as possible.
 *  Cost: O(log timers); may allocate. */
RL_EXPORT void RLRunLoopTimerSetTolerance(RLRunLoopTimerRef timer, RLTimeInterval tolerance);

/* ---- With a block (clang -fblocks; the program links the blocks runtime) ---- */

#if defined(__BLOCKS__)
/** Internal: a timer's callback whose info is a block. The block is retained: it may invalidate its timer. */
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
    if (block == NULL)
        return RLRunLoopTimerCreate(allocator, fireDate, interval, flags, order, NULL, NULL);
    return RLRunLoopTimerCreate(allocator, fireDate, interval, flags, order, RLRunLoopTimerCallBlock, &context);
}
#endif

RL_EXTERN_C_END
#endif
