/* A loop that is the guest of a host: its thread waits in the host's poll. No wake-up, stop or change is lost, and the host does not spin. Code:
 * Sources/RunLoopCore/Loop/RunLoop+Guest.swift, Sources/RunLoopCore/Poller/Poller+Host.swift, with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * take_back: W IN_EPOLL → AWAKE  endHostWait: wake.endSleepOfHost()                     acq_rel   wake_up, adjust: what they put there stays for the
 *                                                                                                 pass, or for take_adjustment
 * take_back: isSignalled         countSignal(), if that CAS fails                       (loop)    the one write that ends the wait, now or soon
 * prepare: changed = 0           prepareDescriptor, under the lock                      (locked)  adders, under the lock
 * prepare: sleepLimit = 1        sleepLimit.store(limit), under the same lock           relaxed   as in adjust.pml
 * drop: outer = 0                dropSignals: epoll_wait on the host's epoll            kernel    write(wakeDescriptor, 1): each is a new edge there
 * prepare: W AWAKE → IN_EPOLL    beginHostWait: wake.goToSleep(inEpoll:)                acq_rel   wake-word.inc.pml
 * prepare: W ADJUSTING → AWAKE   wake.takeAdjustment()                                  acq_rel   adjust
 * signal: outer = 1              signalHost: write(wakeDescriptor, 1)                   kernel    the host's poll
 * dispatch: saved, S             enter, leave: see wake.pml; then stop.exchange(0)      acq_rel   wake.pml
 * run: take over                 takeOverFromHost, from handleWatchTrouble              (loop)    the host dispatches, and so prepares again
 * leave: wake_up                 leave(to:): wakeUp() if a stop was saved and the host waits       acq_rel   a prepare in the meantime does not check that stop
 * run: hostWaits: no sleep       retryDeadline is past while the host waits             (loop)    -
 *
 * The host's descriptor (outer) is drained in each dispatch, even if it does not seem to be signalled: a thread that decided to end an earlier wait
 * may write only now, and nothing else would make the descriptor unreadable again (MUTANT_DROPS_WHAT_IT_KNOWS). It is drained before the loop goes to
 * sleep, since later writes belong to this wait (MUTANT_DROPS_BEHIND_THE_SLEEP).
 *
 * Properties. (1) owed: the host does not wait if a WakeUp arrived after the last pass began, unless the descriptor is readable. (2) It does not wait
 * without taking into account a change whose call has returned, or a stop. (3) Each stop is the result of a dispatch, or ends the run that it hits.
 * (4) The host dispatches a few times, and does not spin. (5) When the thread exits, the eventfd's sum is the number of writes that the loop knows
 * of. (6) There is one write per wait.
 *
 * The host prepares again at any time, dispatches without a reason, and runs the loop itself; a callback of that run may prepare.
 */
#define COUNTED
#define ALSO_REPORTED outer = 1
bit outer;                         /* the host's descriptor is readable */
#include "wake-word.inc.pml"

#ifndef PREPARES
#define PREPARES 1
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifndef DISPATCHES
#define DISPATCHES 1               /* without a reason */
#endif

/* Configurations: default (changes and a waker), STOPS (a stopper and a waker). */
#define HOST 0
#define RUN 1

bit locked, isOpen = 1;
bit S;
bit sleepLimit;                    /* guarded by the lock: added items that the loop has not examined; 1: a timer, 2: a descriptor */
byte changed;                      /* ghost: the part of `changed` whose adding call has returned */
byte toldChange;                   /* ghost: a stop that has not been reported */
bit stopped;                       /* ghost: a stop that nothing has reported */
bit inRun;                         /* loop thread only */
bit ended;                         /* ghost */

/* The loop learns of one more write. `sum` counts, from 100 on, those it does not know of. */
#define COUNT sum--

inline lock() { atomic { !locked -> locked = 1 } }
inline unlock() { locked = 0 }

inline signal_host() {
    if
    :: !isSignalled -> atomic { isSignalled = 1; inVain = 0; COUNT; ADD_TO_SUM; outer = 1 }
    :: else
    fi
}

inline drop() { atomic { outer = 0; isSignalled = 0 } }

/* endHostWait. A wake-up or an adjustment stays in the word. */
inline take_back() {
    if
    :: hostWaits ->
        atomic { !locked -> locked = 1; hostWaits = 0; sleepLimit = 0 };
        atomic {
            if
            :: W == IN_EPOLL -> W = AWAKE; kernelWakesAllowed--; inVain++
            :: else ->
                inVain = 0;
#ifndef MUTANT_FORGETS_THE_WRITE
                isSignalled = 1; COUNT;
#endif
#ifdef MUTANT_TAKES_THE_WAKE_UP
                W = AWAKE;
#endif
                skip
            fi
        };
        unlock()
    :: else
    fi
}

inline look() {
    atomic { !locked -> changed = 0; toldChange = 0; sleepLimit = 1 }
}

active proctype Loop() {
    LOOP_THREAD_VARIABLES;
    bit consumed, countable, hostWaits, isSignalled, saved, back, mayExit;
    byte inVain, old;              /* inVain: consecutive dispatches without a reason */
    byte preparesLeft = PREPARES, runsLeft = RUNS, idleLeft = DISPATCHES;

    sum = 100;
    goto prepare;

host:
    if
    :: mayExit -> goto exit
    :: atomic { preparesLeft > 0 -> preparesLeft-- }; goto prepare
#if RUNS
    :: atomic { runsLeft > 0 -> runsLeft-- }; goto begin
#endif
#if DISPATCHES
    :: atomic { idleLeft > 0 -> idleLeft-- }; goto dispatch
#endif
    :: true
    fi;
end_poll:
    outer;
    assert(inVain < 6);
    goto dispatch;

dispatch:
    take_back();
#ifdef MUTANT_DROPS_WHAT_IT_KNOWS
    if
    :: isSignalled -> drop()
    :: else
    fi;
#else
    drop();
#endif
#ifdef MUTANT_ENTRY_DROPS_THE_STOP
    atomic { saved = 0; S = 0 };
#else
    atomic { saved = S; S = 0 };
#endif
    take_pending(consumed);
    owed[0] = 0;
    atomic { if :: S -> stopped = 0 :: else fi; S = saved; saved = 0 };
#ifdef STOPS
    atomic { if :: S -> stopped = 0; S = 0 :: else fi };
#endif
    mayExit = 1;

prepare:
    take_back();
again:
    look();
    if
    :: S && !inRun -> goto due
    :: else
    fi;
#ifndef MUTANT_DROPS_BEHIND_THE_SLEEP
    if
    :: isSignalled -> drop()
    :: else
    fi;
#endif
    asleep = IN_EPOLL;
    publish();
    atomic {
        if
        :: W == AWAKE -> W = IN_EPOLL; kernelWakesAllowed++; slept = 1; assert(!owed[0]); assert(!toldChange)
        :: else -> slept = 0
        fi;
        asleep = 0
    };
    if
    :: slept ->
        slept = 0;
#ifdef MUTANT_DROPS_BEHIND_THE_SLEEP
        if
        :: isSignalled -> drop()
        :: else
        fi;
#endif
        hostWaits = 1;
        goto prepared
    :: else
    fi;
    sleepLimit = 0;
    if
    :: atomic { W == ADJUSTING -> W = AWAKE }; goto again
    :: else
    fi;
due:
    sleepLimit = 0;
    signal_host();
prepared:
    if
#if RUNS
    :: back == RUN -> back = HOST; goto called
#endif
    :: else -> goto host
    fi;

#if RUNS
begin:
    atomic { saved = S; S = 0; inRun = 1 };
pass:
    take_pending(consumed);
#ifndef MUTANT_LEAVES_THE_WORD
    if
    :: hostWaits ->
        take_back();
#ifndef MUTANT_TAKES_OVER_SILENTLY
        signal_host()
#endif
    :: else
    fi;
#endif
    owed[0] = 0;
    if
    :: S -> goto leave
    :: else
    fi;
    if
    :: atomic { preparesLeft > 0 -> preparesLeft--; back = RUN }; goto prepare
    :: true
    fi;
called:
    if
    :: goto leave
#if !defined(MUTANT_SLEEPS_IN_THE_HOSTS_PLACE) && !defined(MUTANT_LEAVES_THE_WORD)
    :: hostWaits -> goto pass
    :: !hostWaits ->
#else
    :: true ->
#endif
        look();
        go_to_sleep(0, 1);
        atomic {
            if
            :: countable && (W == PENDING || W == ADJUSTING) -> COUNT
            :: else
            fi;
            END_SLEEP;
            owed[0] = owed[0] && W != PENDING;   /* a run that has ended has received the wake-up; its work is found by `look` */
            W = AWAKE; countable = 0; sleepLimit = 0
        };
        if
        :: timedOut -> timedOut = 0; goto leave
        :: else -> goto pass
        fi
    fi;
leave:
    atomic { if :: S -> stopped = 0 :: else fi; S = saved; inRun = 0 };
#if defined(STOPS) && !defined(MUTANT_LEAVES_WITH_A_STOP)
    if
    :: saved && hostWaits -> wake_up(old)
    :: else
    fi;
#endif
    saved = 0;
    goto host;
#endif

exit:
    take_back();
    lock();
    atomic { isOpen = 0; W = AWAKE };
    sum >= 100;
    assert(sum == 100);
    closed = 1;
    unlock();
    ended = 1
}

#define RETURNED(what) toldChange = toldChange | (changed & what); assert(!IS_SLEEPING(W) || !(changed & what))

#ifndef STOPS
active proctype TimerAdder() {
    byte old;
    lock();
    if
    :: isOpen ->
        changed = changed | 1;
        if
        :: sleepLimit -> adjust(old)
        :: else
        fi
    :: else
    fi;
    unlock();
    atomic { RETURNED(1) }
}

active proctype DescriptorAdder() {
    byte old;
    lock();
    if
    :: isOpen ->
        changed = changed | 2;
        unlock();
        adjust(old)
    :: else -> unlock()
    fi;
    atomic { RETURNED(2) }
}

#else
active proctype Stopper() {
    byte old;
    atomic { S = 1; stopped = 1 };
    wake_up(old)
}

#endif

active proctype Waker() {
    byte old;
    wake_up(old)
}

/* `timeout` is true when no other process can move. */
active proctype Quiescence() {
    timeout;
    assert(ended || isOpen);       /* otherwise drain waits for a write that never comes */
    assert(ended || (W == IN_EPOLL && !outer && !S && !stopped && !owed[0] && !changed))
}
