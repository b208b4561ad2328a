/* Adding timers and descriptors to a loop that may sleep: it never sleeps on what does not know them; and the kicks in the eventfd are counted.
 * Code: Sources/RunLoopCore/Loop/Run.swift (sleep), RunLoop.swift (adjustSleep), RunLoop+Timers.swift (enqueue), RunLoop+Sources.swift (add),
 * RunLoop+Lifetime.swift (close), with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * lock … unlock                  threadContext.lock (owner-lock.pml)                    acquire,  each other
 *                                                                                       release
 * add timer: d < sleepLimit      sleepLimit.load(), under the lock                      relaxed   the loop's store under the lock, or a later 0: then this
 *                                                                                                 sleep is over, and the loop locks before the next one
 * add timer: adjust              wake.adjust(), under the lock                          acq_rel   wake-word.inc.pml
 * add descriptor: adjust         wake.adjust(), after unlocking                         acq_rel   wake-word.inc.pml
 * sleep: limit, asleep           latestWake(mode), target(mode), under the lock         (locked)  what was added before is known
 * sleep: sleepLimit = limit      sleepLimit.store(limit), under the same lock           relaxed   see above
 * sleep: limit <= now            no sleep: a pass. `adjusting` may stay in the word     (loop)    the next goToSleep fails on it: one look too many
 * sleep: sleep_as_chosen         goToSleep, wait                                        acq_rel   wake-word.inc.pml
 * sleep: reason                  wakeFromSleep; countWake unless `nobody`               acq_rel   wake-word.inc.pml
 * sleep: sleepLimit = 0          sleepLimit.store(0), without the lock                  relaxed   see above
 * sleep: adjusted                `again`: from the lock on, without a pass              (loop)    -
 * exit: W = AWAKE                wake.reset()                                           acq_rel   later wakers kick nobody
 * exit: sum >= kicks             EventDescriptor.drain: reads until all have arrived    kernel    write(wakeDescriptor, 1)
 * exit: closed                   close(wakeDescriptor)                                  kernel    no write comes after this
 *
 * Properties. (1) When the loop falls asleep, and when an adding call returns while it sleeps, the sleep's limit and target know everything whose adding
 * call has returned. (2) Nobody sleeps for ever with an adjustment or a wake-up pending, or on the wrong limit (Quiescence). (3) owed: a wake-up gets its
 * pass, an adjustment does not eat it. (4) At most one kick per sleep. (5) The thread's end: the sum of the eventfd is the number of the sleeps in epoll that
 * somebody ended, neither less (drain would wait for ever) nor more (a kick would go to a descriptor that is closed).
 *
 * Time: timers 1 and 2 are due at 1 and 2; `now` moves only when a sleep times out. NEVER: no timer. The descriptor's loop side may be removed in a pass, so
 * that sleeps in epoll and on the word follow each other.
 */
#define COUNTED
#define SLEEPS_RIGHTLY KNOWS(doneTimers, doneWatched)
#define NEVER 3
#define EARLIEST(t) (((t) & 1) -> 1 : (((t) & 2) -> 2 : NEVER))
#define KNOWS(t, d) (limit <= EARLIEST(t) && (!(d) || W == IN_EPOLL))   /* of a sleeping loop */

#include "wake-word.inc.pml"

bit locked, isOpen = 1;
byte timers;                       /* bit d - 1: due at d. Under the lock, as `watched` */
bit watched;
byte sleepLimit;                   /* 0: awake */
byte limit;                        /* loop thread only; what it sleeps for */
byte doneTimers;                   /* ghosts: those whose adding call has returned, and that are still there */
bit doneWatched;
bit ended;                         /* ghost */

inline lock() { atomic { !locked -> locked = 1 } }
inline unlock() { locked = 0 }

/* Any thread. */
inline adjust(old) {
    old = W;
    do
#if defined(MUTANT_ADJUST_LEAVES_AWAKE)
    :: !IS_SLEEPING(old) -> break
#elif defined(MUTANT_ADJUST_OVERWRITES_PENDING)
    :: old == ADJUSTING -> break
#else
    :: old == PENDING || old == ADJUSTING -> break
#endif
    :: else ->
#if defined(MUTANT_ADJUST_BY_LOAD_AND_STORE)
        W = ADJUSTING;
#else
        atomic {
            if
            :: W == old -> W = ADJUSTING
            :: else     -> old = W; goto again
            fi
        };
#endif
        if
        :: IS_SLEEPING(old) -> kernel_wake(old)
        :: else
        fi;
        break;
again:  skip
    od;
    old = 0
}

active proctype Loop() {
    LOOP_THREAD_VARIABLES;
    bit consumed, adjusted, countable;
    byte now, kicks;

    atomic { if :: true :: watched = 1; doneWatched = 1 fi };
pass:
    take_pending(consumed);
    atomic { consumed = 0; owed[0] = 0; owed[1] = 0 };
    lock();
    atomic {
        if
        :: now == 1 -> timers = timers & 2; doneTimers = doneTimers & 2
        :: now == 2 -> timers = 0; doneTimers = 0
        :: else
        fi;
        if
        :: watched -> watched = 0; doneWatched = 0
        :: true
        fi
    };
    unlock();
    if
    :: goto exit
    :: true
    fi;
sleep:
    lock();
    atomic {
        limit = EARLIEST(timers);
        asleep = (watched -> IN_EPOLL : ON_WORD);
#ifndef MUTANT_LIMIT_AFTER_UNLOCK
        sleepLimit = limit
#endif
    };
    unlock();
#ifdef MUTANT_LIMIT_AFTER_UNLOCK
    sleepLimit = limit;
#endif
    if
    :: limit <= now -> sleepLimit = 0; asleep = 0; goto pass
    :: else
    fi;
    sleep_as_chosen(0, limit != NEVER);
    atomic {
        adjusted = (W == ADJUSTING);
        consumed = (W == PENDING);
#ifdef MUTANT_COUNTS_ONLY_WAKE_UPS
        kicks = kicks + (countable && consumed);
#else
        kicks = kicks + (countable && (adjusted || consumed));
#endif
        W = AWAKE;
        countable = 0;
        if :: timedOut -> now = limit; timedOut = 0 :: else fi
    };
    atomic { sleepLimit = 0; limit = 0 };
    if
    :: adjusted -> adjusted = 0; goto sleep
    :: !adjusted && consumed -> goto pass
    :: !adjusted && !consumed -> goto sleep              /* nobody: a time-out, or nothing at all */
    :: !adjusted && !consumed -> goto pass               /* a ready descriptor */
    fi;

exit:
    lock();
    atomic { isOpen = 0; W = AWAKE };
#ifndef MUTANT_CLOSES_WITHOUT_DRAINING
    sum >= kicks;
    assert(sum == kicks);
#endif
    closed = 1;
    unlock();
    ended = 1
}

#define RETURNED assert(!IS_SLEEPING(W) || KNOWS(doneTimers, doneWatched))

active [2] proctype TimerAdder() {
    byte old;
#define DUE _pid                   /* Loop is 0 */
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

active proctype Waker() {
    byte old;
    wake_up(old)
}

active proctype Quiescence() {
    timeout;
    assert(ended || isOpen);       /* or drain waits for a kick that never comes */
    assert(ended || (ASLEEP && !owed[0] && KNOWS(timers, watched)))
}
