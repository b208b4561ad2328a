/* Adding timers and descriptors to a loop that may be asleep: it never sleeps without taking them into account, and writes to the eventfd are
 * counted. Code: Sources/RunLoopCore/Loop/Run.swift (sleep), RunLoop.swift (adjustSleep), RunLoop+Timers.swift (enqueue), RunLoop+Sources.swift
 * (add), RunLoop+Lifetime.swift (close), with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * lock … unlock                  threadContext.lock (owner-lock.pml)                    acquire,  each other
 *                                                                                       release
 * add timer: d < sleepLimit      sleepLimit.load(), under the lock                      relaxed   the loop's store under the lock, or a later 0: then this
 *                                                                                                 sleep is over, and the loop locks before the next one
 * add timer: adjust              wake.adjust(), under the lock                          acq_rel   wake-word.inc.pml
 * add descriptor: adjust         wake.adjust(), after unlocking                         acq_rel   wake-word.inc.pml
 * sleep: limit, asleep           latestWake(mode), target(mode), under the lock, after  (locked)  what was added before is known
 *                                the observers of waiting, which may run the loop
 * leave: W = PENDING             leave(to:): wakeUp() if tookWake                       acq_rel   the outer sleep's goToSleep
 * sleep: sleepLimit = limit      sleepLimit.store(limit), under the same lock           relaxed   see above
 * sleep: limit <= now            no sleep: a pass. `adjusting` may stay in the word     (loop)    the next goToSleep fails on it: one extra check
 * sleep: sleep_as_chosen         goToSleep, wait                                        acq_rel   wake-word.inc.pml
 * sleep: reason                  wakeFromSleep; countWake unless `nothing`              acq_rel   wake-word.inc.pml
 * sleep: sleepLimit = 0          sleepLimit.store(0), without the lock                  relaxed   see above
 * sleep: adjusted                `again`: from the lock on, without a pass              (loop)    -
 * exit: W = AWAKE                wake.reset()                                           acq_rel   later wakers write nothing
 * exit: sum >= 0                 EventDescriptor.drain: reads until all have arrived    kernel    write(wakeDescriptor, 1)
 * exit: closed                   close(wakeDescriptor)                                  kernel    no write follows
 *
 * Properties. (1) When the loop falls asleep, and when an adding call returns while it sleeps, the sleep's limit and target account for every item of
 * its mode whose adding call has returned. (2) The loop never sleeps without limit while an adjustment or a wake-up is pending, and never on a wrong
 * limit (Quiescence). (3) owed: a wake-up gets its pass in each activation; an adjustment does not consume it. (4) At most one system call per sleep.
 * (5) When the thread exits, the sum of the eventfd is the number of sleeps in epoll that a waker ended: neither less (drain would wait without
 * limit) nor more (a write would go to a closed descriptor).
 *
 * Time: timers 1 and 2 are due at 1 and 2; `now` advances only when a sleep times out. NEVER: no timer. The descriptor's loop side may be removed in
 * a pass, so that sleeps in epoll and on the word alternate. A callback of a pass, or a BeforeWaiting observer, runs the loop again in a mode that
 * contains only timer 2: other threads do not know which mode sleeps.
 */
#define COUNTED
#define SLEEPS_RIGHTLY KNOWS(doneTimers, doneWatched)
#define NEVER 3
#define EARLIEST(t) (((t) & 1) -> 1 : (((t) & 2) -> 2 : NEVER))
#ifdef NESTED
#define IN_MODE(t) (depth == 0 -> (t) : (t) & 2)
#else
#define IN_MODE(t) (t)
#endif
#define KNOWS(t, d) (limit <= EARLIEST(IN_MODE(t)) && (!(d) || depth == 1 || W == IN_EPOLL))   /* of a sleeping loop */

#include "wake-word.inc.pml"

bit locked, isOpen = 1;
byte timers;                       /* bit d - 1: due at d. Guarded by the lock, as is `watched` */
bit watched;
bit depth;                         /* loop thread only; 1: in a nested run */
byte sleepLimit;                   /* 0: awake */
byte limit;                        /* loop thread only; the limit of the current sleep */
byte doneTimers;                   /* ghosts: items that are still there and whose adding call has returned */
bit doneWatched;
bit ended;                         /* ghost */

inline lock() { atomic { !locked -> locked = 1 } }
inline unlock() { locked = 0 }

active proctype Loop() {
    LOOP_THREAD_VARIABLES;
    bit consumed[2], adjusted, countable, wokenUp;
    byte now;
    bit nested;                    /* there was a nested run */
    bit lateNest;                  /* it was started by a BeforeWaiting observer */

    atomic { if :: true :: watched = 1; doneWatched = 1 fi };
pass:
    take_pending(consumed[depth]);
    atomic { consumed[0] = 0; owed[depth] = 0 };
    lock();
    atomic {
        if
        :: now == 1 && depth == 0 -> timers = timers & 2; doneTimers = doneTimers & 2
        :: now == 2 && depth == 0 -> timers = 0; doneTimers = 0
#ifdef NESTED
        :: now == 2 && depth == 1 -> timers = timers & 1; doneTimers = doneTimers & 1
#endif
        :: else
        fi;
        if
        :: watched && depth == 0 -> watched = 0; doneWatched = 0
        :: true
        fi
    };
    unlock();
    if
#ifdef NESTED
    :: atomic { !nested -> nested = 1; depth = 1; lateNest = 0 }; goto pass
    :: depth == 1 -> goto leave
#endif
    :: depth == 0 -> goto exit
    :: true
    fi;
#ifdef NESTED
beforeSleep:
    if
    :: atomic { !nested -> nested = 1; depth = 1; lateNest = 1 }; goto pass
    :: true
    fi;
#endif
sleep:
    lock();
    atomic {
        limit = EARLIEST(IN_MODE(timers));
        asleep = (watched && depth == 0 -> IN_EPOLL : ON_WORD);
#ifndef MUTANT_LIMIT_AFTER_UNLOCK
        sleepLimit = limit
#endif
    };
    unlock();
#ifdef MUTANT_LIMIT_AFTER_UNLOCK
    sleepLimit = limit;
#endif
#ifdef MUTANT_RUNS_AGAIN_AFTER_LIMIT
    if
    :: atomic { !nested -> nested = 1; sleepLimit = 0 }   /* a nested run that did nothing */
    :: true
    fi;
#endif
    if
    :: limit <= now -> sleepLimit = 0; asleep = 0; goto pass
    :: else
    fi;
    sleep_as_chosen(depth, limit != NEVER);
    atomic {
        adjusted = (W == ADJUSTING);
        consumed[depth] = consumed[depth] || (W == PENDING);
#ifdef MUTANT_COUNTS_ONLY_WAKE_UPS
        sum = sum - (countable && W == PENDING);
#else
        sum = sum - (countable && (adjusted || W == PENDING));
#endif
        wokenUp = (W == PENDING);
        END_SLEEP;
        W = AWAKE;
        countable = 0;
        if :: timedOut -> now = limit; timedOut = 0 :: else fi
    };
    atomic { sleepLimit = 0; limit = 0 };
    if
    :: adjusted -> adjusted = 0; goto sleep
    :: !adjusted && wokenUp -> wokenUp = 0; goto pass
    :: !adjusted && !wokenUp -> goto sleep               /* a time-out, or nothing at all */
    :: !adjusted && !wokenUp -> goto pass                /* a ready descriptor */
    fi;

#ifdef NESTED
leave:
    depth = 0;
    if
#ifndef MUTANT_NESTED_SWALLOWS_WAKE
    :: atomic { consumed[1] -> W = PENDING }
#endif
    :: else
    fi;
    atomic {
        consumed[1] = 0;
        if
        :: lateNest -> goto sleep
        :: else -> goto beforeSleep
        fi
    };
#endif

exit:
    lock();
    atomic { isOpen = 0; W = AWAKE };
#ifndef MUTANT_CLOSES_WITHOUT_DRAINING
    sum >= 0;
    assert(sum == 0);
#endif
    closed = 1;
    unlock();
    ended = 1
}

#define RETURNED assert(!IS_SLEEPING(W) || KNOWS(doneTimers, doneWatched))

#ifdef NESTED
#define TIMER_ADDERS 1             /* of either timer; no descriptor is added, to avoid 34 million states */
#define DUE due
#else
#define TIMER_ADDERS 2
#define DUE _pid                   /* Loop is 0 */
#endif

active [TIMER_ADDERS] proctype TimerAdder() {
    byte old;
#ifdef NESTED
    byte due;
    if :: due = 1 :: due = 2 fi;
#endif
    lock();
    if
    :: isOpen ->
        timers = timers | DUE;
        if
        :: DUE < sleepLimit -> adjust(old)
        :: else
        fi
    :: else
    fi;
    unlock();
    atomic { doneTimers = doneTimers | (timers & DUE); RETURNED }
}

#ifndef NESTED
active proctype DescriptorAdder() {
    byte old;
    lock();
    if
    :: isOpen ->
        watched = 1;
        unlock();
        adjust(old)
    :: else -> unlock()
    fi;
    atomic { doneWatched = watched; RETURNED }
}
#endif

active proctype Waker() {
    byte old;
    wake_up(old)
}

active proctype Quiescence() {
    timeout;
    assert(ended || isOpen);       /* otherwise drain waits for a write that never comes */
    assert(ended || (ASLEEP && !owed[depth] && KNOWS(timers, watched)))
}
