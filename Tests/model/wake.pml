/* WakeUp, Stop and nested activations: no wake-up is lost, and a Stop ends the activation that it hits and no other. Code:
 * Sources/RunLoopCore/Poller/WakeWord.swift (W; see wake-word.inc.pml), Sources/RunLoopCore/Loop/Run.swift (S, activations).
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * Stop: S = 1                    S.store(1)                                             release   made visible by the WakeUp that follows (W's order)
 * Stop: wake_up                  WakeUp                                                 acq_rel   wake-word.inc.pml
 * entry: saved = S; S = 0        saved = S.exchange(0)                                  acq_rel   one order of S decides which activation a Stop hits
 * pass: take_pending             takePending: see wake-word.inc.pml                     acq_rel   stale wake-ups too: the first pass checks anyway
 * pass: S -> leave               S.load()                                               acquire   Stop's store, through W.exchange(awake) just before
 * go_to_sleep, awake             see wake-word.inc.pml
 * leave: S = saved               S.exchange(saved)                                      acq_rel   one order of S: a Stop up to here is absorbed
 * leave: W = PENDING             if depth > 0 && (tookWake || saved stop) { wakeUp() }  acq_rel   own CAS of the outer activation
 *
 * The last step is necessary: a nested run may take a wake-up whose work belongs to the outer run's mode, which the nested run does not check. The
 * outer run may have checked already in its current pass (if the nested run is started by a late callback, or by a BeforeWaiting observer), and would
 * go to sleep (MUTANT_NESTED_SWALLOWS_WAKE).
 *
 * S must be checked between taking a wake-up and sleeping: the wake-up may have been that of a Stop, and nothing else keeps the loop from sleeping
 * (MUTANT_STOP_CHECKED_BEFORE_TAKING: the end of a pass is too early).
 *
 * Properties. (1) owed: no activation goes to sleep if a WakeUp arrived after the beginning of its last pass (assertion in go_to_sleep). (2) The loop
 * never sleeps forever with a wake-up or a stop pending (Quiescence). (3) An activation returns Stopped only if a Stop was stored while it was the
 * current one. (4) Wakers make at most one system call per sleep. (5) No thread blocks forever (invalid end states). Configurations: default (a
 * stopper and a waker thread); HANDLER: instead of the waker, a signal handler runs on the loop's own thread, between any two of its steps or
 * interrupting its wait, and calls Stop or WakeUp (the interrupted step continues only after the handler has returned).
 */
#include "wake-word.inc.pml"

#ifndef NESTED_RUNS
#define NESTED_RUNS 1
#endif
#ifndef STOPPERS
#define STOPPERS 2
#endif
#ifndef WAKERS
#define WAKERS 1
#endif

bit S;
bit inHandler;                     /* the loop's thread is inside a signal handler */

byte depth;                        /* loop thread only; in the model also a ghost: which activation a Stop hits */

bit hit[2];                        /* ghost: a Stop was stored while this activation was the current one */
bit running, ended;                /* ghosts */

inline stop(old) {
#ifdef MUTANT_STOP_STORES_AFTER_WAKE
    wake_up(old);
    atomic { S = 1; if :: running -> hit[depth] = 1 :: else fi }
#else
    atomic { S = 1; if :: running -> hit[depth] = 1 :: else fi };
    wake_up(old)
#endif
}

/* One exchange of S. The ghosts change with it, because this exchange decides which activation a Stop hits. */
inline enter(d) {
#ifdef MUTANT_ENTRY_LOADS_THEN_STORES
    saved[d] = S;
#endif
    atomic {
#if defined(MUTANT_ENTRY_DOES_NOT_SAVE_STOP)
        saved[d] = 0; S = 0;
#elif defined(MUTANT_ENTRY_KEEPS_STOP)
        saved[d] = S;
#elif defined(MUTANT_ENTRY_LOADS_THEN_STORES)
        S = 0;
#else
        FLUSH; saved[d] = S; S = 0;
#endif
        depth = d; running = 1; hit[d] = 0; consumed[d] = 0
    }
}

inline leave_activation() {
    atomic {
#if defined(MUTANT_EXIT_DOES_NOT_RESTORE_STOP)
        skip;
#elif defined(MUTANT_EXIT_CLEARS_STOP)
        S = 0;
#else
        FLUSH; S = saved[depth];
#endif
        consumed[1] = consumed[1] || saved[1]; saved[depth] = 0; hit[depth] = 0;
        if :: depth == 0 -> running = 0; ended = 1 :: else -> depth = 0 fi
    }
}

#ifdef HANDLER
#define INTERRUPTIBLE provided (!inHandler)
#else
#define INTERRUPTIBLE
#endif

active proctype Loop() INTERRUPTIBLE {
    LOOP_THREAD_VARIABLES;
    bit saved[2], consumed[2];
    byte nestedLeft = NESTED_RUNS, pollsLeft = 1;
    bit lateNest;                  /* the nested run was started late in the pass, by a BeforeWaiting observer */

    /* State from before the run: a stale Stop, a stale wake-up. Both are documented as lost. */
    atomic { if :: S = 0 :: S = 1 fi; if :: W = AWAKE :: W = PENDING fi };

    enter(0);

pass:
#ifdef MUTANT_STOP_CHECKED_BEFORE_TAKING
    if
    :: atomic { S -> assert(hit[depth]) }; goto leave
    :: else
    fi;
#endif
    take_pending(consumed[depth]);
    /* a callback of this pass, which may run the loop again */
    atomic {
        owed[depth] = 0;           /* ghost: a full pass begins */
        consumed[0] = 0            /* only a nested activation needs it */
    };
#ifndef MUTANT_STOP_CHECKED_BEFORE_TAKING
    if
    :: atomic { S -> assert(hit[depth]) }; goto leave
    :: else
    fi;
#endif
    atomic {
        if
        :: depth == 0 && nestedLeft > 0 -> nestedLeft--; lateNest = 0; goto nest
        :: true
        fi
    };
afterCallback:
    atomic {
        if
        :: depth == 1 -> goto leave                      /* another reason: handled source, finished, timed out */
        :: pollsLeft > 0 -> pollsLeft--; goto pass       /* the time-out is 0, or a source was handled */
        :: depth == 0 && nestedLeft > 0 -> nestedLeft--; lateNest = 1; goto nest
        :: true
        fi
    };
beforeSleep:
#ifdef MUTANT_AWAKE_AFTER_PASS
    awake(consumed[depth]);
#endif
    go_to_sleep(depth, depth == 1);
#ifndef MUTANT_AWAKE_AFTER_PASS
    awake(consumed[depth]);
#endif
    if
    :: timedOut -> timedOut = 0; goto leave
    :: else -> goto pass
    fi;

nest:
    enter(1);
    goto pass;

leave:
    leave_activation();
    if
    :: ended -> goto done
    :: else
    fi;
    if
#ifndef MUTANT_NESTED_SWALLOWS_WAKE
    :: atomic { consumed[1] -> FLUSH; W = PENDING }
#endif
    :: else
    fi;
    consumed[1] = 0;
    if
    :: lateNest -> goto beforeSleep
    :: else -> goto afterCallback
    fi;
done:
    skip
}

active [STOPPERS] proctype Stopper() {
    byte old;
    stop(old)
}

#ifdef HANDLER
active proctype SignalHandler() {
    byte old;
    /* A UNIX signal takes the thread out of the futex's queue. The wait returns EINTR, or is restarted and checks W again: both are `parked = 0`. */
    atomic { inHandler = 1; parked = 0 };
    if
    :: stop(old)
    :: wake_up(old)
    fi;
    inHandler = 0
}
#else
active [WAKERS] proctype Waker() {
    byte old;
    wake_up(old)
}
#endif

/* `timeout` is true when no other process can move. */
active proctype Quiescence() {
    timeout;
    assert(ended || (ASLEEP && !S && !hit[depth] && !owed[depth]))
}
