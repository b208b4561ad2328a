/* Posting functions to a loop: no task is lost or run twice, and each one runs without a further wake-up. Code:
 * Sources/RunLoopCore/Loop/PerformInbox.swift, RunLoop+Performs.swift (drain, run), Run.swift (the pass), with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * lock … unlock                  inbox lock (store-mutex.pml)                           acquire,  each other
 *                                                                                       release
 * post: inbox, first, wakeOwed   append; first = !wakeOwed; wakeOwed = true             (locked)  the drain's
 * post: wake_up                  if first { WakeUp }, after unlocking                   acq_rel   wake-word.inc.pml
 * perform                        append only (RLRunLoopPerformFunction: no wake)        (locked)  -
 * drain: inbox != 0              inbox head load: skip the lock if nothing is there     relaxed   take_pending before the pass: its acquire side
 *                                                                                                 sees the append that preceded that WakeUp
 * drain: take, wakeOwed = false  take all; wakeOwed = false                             (locked)  post's
 * run                            move on to the next matching task, call it             (loop)    -
 * cancel: had, then inbox = 0    takeIntoHeld: everUsed.store(… | heldFunctions); then  relaxed;  drain: inbox, then had
 *                                the inbox's functions go to `held`, nonEmptyFlag.store(0) release
 * drain: had && held             everUsed.load(), after nonEmptyFlag.load(); then        relaxed;  cancel: a thread that reads its nonEmptyFlag = 0 also reads its `had`
 *                                `held`, under the loop's lock                          acquire
 *
 * Invariant: wakeOwed is true only while some thread is between its append and its WakeUp, or while that WakeUp is still pending in W or being acted
 * on. So a post that finds it true may rely on that other thread, which has released the lock and has only its WakeUp left to do. Until it does that,
 * neither task runs. Tasks that were taken and have not run belong to the loop, not to the stack of the activation that took them
 * (MUTANT_TAKEN_LIST_ON_STACK): a task may run the loop again, and a nested activation in another mode also takes tasks that only the outer one may
 * run (then MUTANT_NESTED_SWALLOWS_WAKE).
 *
 * Tasks: 0 is for mode M1 (the outer run's), 1 and 2 are for the common modes; 3 is performed without a wake, in the common modes. Task 1 runs the
 * loop again, in mode M2, with or without a deadline. Configurations: default; CANCELS: instead of performing 3, another thread searches for tasks to
 * cancel, and for that moves them from the inbox to those held for the loop; HANDLER: instead of posting 2 and performing 3, a signal handler on the
 * loop's thread calls WakeUp, between any two steps. (Post takes a lock, so it is not async-signal-safe, and MUTANT_HANDLER_POSTS deadlocks.)
 */
#include "wake-word.inc.pml"

#define COMMON_TASKS 14            /* 1, 2, 3 */
#ifdef HANDLER
#define POSTED_TASKS 3             /* 0, 1 */
#else
#define POSTED_TASKS 7             /* 0, 1, 2 */
#endif
#define RUNNABLE(d) (d == 0 -> 15 : COMMON_TASKS)

bit locked;
byte inbox;                        /* set of tasks; guarded by the lock */
bit wakeOwed;                      /* guarded by the lock */
byte taken;                        /* loop thread only */
#ifdef CANCELS
bit had;                           /* something has been held at least once */
byte held;                         /* set of tasks; guarded by the lock, which also stands for the loop's lock */
#endif
byte done;                         /* ghost: set of tasks that ran */
byte depth;                        /* loop thread only */
bit inHandler;

inline lock() { atomic { !locked -> locked = 1; FLUSH } }
inline unlock() { locked = 0 }

inline append(task) { inbox = inbox | (1 << task) }

inline post(task, first, old) {
#ifdef MUTANT_POST_WAKES_BEFORE_APPEND
    lock();
    first = !wakeOwed;
    wakeOwed = 1;
    unlock();
    if :: first -> first = 0; wake_up(old) :: else fi;
    lock();
    append(task);
    unlock()
#else
    lock();
    atomic { append(task); first = !wakeOwed; wakeOwed = 1 };
    unlock();
    if :: first -> first = 0; wake_up(old) :: else fi
#endif
}

inline perform(task) {
    lock();
    append(task);
#ifdef MUTANT_PERFORM_SETS_WAKE_OWED
    wakeOwed = 1;
#endif
    unlock()
}

inline drain() {
#ifdef CANCELS
    mayWait = (inbox != 0);
    if
    :: !mayWait && had -> lock(); mayWait = (held != 0); unlock()
    :: else
    fi;
    if
    :: mayWait ->
        mayWait = 0;
        lock();
        atomic { taken = taken | held | inbox; held = 0; inbox = 0; wakeOwed = 0 };
        unlock()
    :: else
    fi
#else
    if
    :: inbox != 0 ->
#if defined(MUTANT_TAKE_WITHOUT_LOCK)
        onStack = inbox;
        atomic { inbox = 0; taken = taken | onStack; onStack = 0 };
        wakeOwed = 0
#elif defined(MUTANT_WAKE_OWED_CLEARED_AFTER_UNLOCK)
        lock();
        atomic { taken = taken | inbox; inbox = 0 };
        unlock();
        wakeOwed = 0
#else
        lock();
        atomic { taken = taken | inbox; inbox = 0; wakeOwed = 0 };
        unlock()
#endif
    :: else
    fi
#endif
}

#ifdef HANDLER
#define INTERRUPTIBLE provided (!inHandler)
#else
#define INTERRUPTIBLE
#endif

active proctype Loop() INTERRUPTIBLE {
    LOOP_THREAD_VARIABLES;
    bit consumed[2], hasDeadline, mayWait;
    byte task, onStack;

pass:
    take_pending(consumed[depth]);
    atomic { owed[depth] = 0; consumed[0] = 0 };
    drain();
runTasks:
    atomic {
        task = 0;
        do
        :: task < 4 && !((taken & RUNNABLE(depth)) & (1 << task)) -> task++
        :: task < 4 && ((taken & RUNNABLE(depth)) & (1 << task)) ->
            taken = taken & ~(1 << task);
            assert(!(done & (1 << task)));
            done = done | (1 << task);
            break
        :: task == 4 -> break
        od
    };
    if
    :: task == 1 && depth == 0 -> task = 0; goto nest
    :: task == 4 -> task = 0
    :: else -> task = 0; goto runTasks
    fi;
    if
    :: depth == 1 && hasDeadline -> goto leave           /* for any reason */
    :: true
    fi;
    go_to_sleep(depth, hasDeadline && depth == 1);
    awake(consumed[depth]);
    if
    :: timedOut -> timedOut = 0; goto leave
    :: else -> goto pass
    fi;

nest:
    atomic {
        depth = 1;
        if :: hasDeadline = 0 :: hasDeadline = 1 fi;
#ifdef MUTANT_TAKEN_LIST_ON_STACK
        onStack = taken; taken = 0;
#endif
        goto pass
    };
leave:
    atomic {
        depth = 0;
        hasDeadline = 0;
#ifdef MUTANT_TAKEN_LIST_ON_STACK
        taken = taken | onStack; onStack = 0
#endif
    };
    if
#ifndef MUTANT_NESTED_SWALLOWS_WAKE
    :: atomic { consumed[1] -> FLUSH; W = PENDING }
#endif
    :: else
    fi;
    consumed[1] = 0;
    goto runTasks
}

active proctype PosterOfModeTask() { bit first; byte old; post(0, first, old) }
active proctype PosterOfNestingTask() { bit first; byte old; post(1, first, old) }
#ifndef HANDLER
active proctype PosterOfCommonTask() { bit first; byte old; post(2, first, old) }
#endif

#ifdef HANDLER
active proctype SignalHandler() {
    bit first;
    byte old;
    atomic { inHandler = 1; parked = 0 };      /* EINTR: see wake.pml */
#ifdef MUTANT_HANDLER_POSTS
    post(3, first, old);
#else
    wake_up(old);
#endif
    inHandler = 0
}
#elif defined(CANCELS)
active proctype Canceller() {
    lock();
#ifdef MUTANT_SAYS_HELD_BEHIND_THE_INBOX
    atomic { held = held | inbox; inbox = 0; wakeOwed = 0 };
    had = 1;
#else
    had = 1;
    atomic { held = held | inbox; inbox = 0; wakeOwed = 0 };
#endif
    unlock()
}
#else
active proctype Performer() { perform(3) }
#endif

active proctype Quiescence() {
    timeout;
    assert(!ASLEEP || (!owed[depth] && (POSTED_TASKS & RUNNABLE(depth) & ~done) == 0));
    /* not asleep: a deadlock, reported as an invalid end state */
}
