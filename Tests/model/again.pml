/* A server that waits for the next request where it has answered one, instead of in a pass: nothing that a pass would do waits for it meanwhile.
 * Code: Sources/RunLoopCore/Loop/Run.swift (sleepAgain, waitForEvents, sleep), RunLoop+Deliver.swift (mayServeOn), RunLoop+Reports.swift (maySurelyServeNext, the
 * reports), Port/Connection+Receive.swift (receiveRequests), with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * look: reports                  reports.isEmpty                                        (loop)    -
 * look: waits & LOOKED_FOR       maySurelyServeNext: one load or more for each bit      relaxed   whoever did it and then wakes the loop: what this does
 *                                                                                       (locked)  not see makes goToSleep fail, or ends the sleep
 * look: inMode                   registrationOfCallee, before the sleep: the mode is not empty  (locked)  remove
 * sleep: sleepLimit = 1          sleep: sleepLimit.store, under the lock (adjust.pml)   relaxed   add timer
 * sleep: waits & TIMER           sleep: the limit has passed: looks without sleeping    (locked)  add timer
 * sleep: sleep_as_chosen         goToSleep, epoll_wait                                  acq_rel   wake-word.inc.pml
 * fetch                          epoll_wait: all that is ready, level-triggered;        kernel    write to the descriptor, to the eventfd
 *                                the kick (edge-triggered)
 * sleep: again                   waitForEvents: while sleep(…) == .again               -         whoever adjusts, having changed what is slept for
 * look again: inMode             registrationOfCallee, behind the sleep                         (locked)  remove, which wakes nobody
 * look again: reports == CONNECTION    reports.takeOnly                                       (loop)    -
 * serve                          receiveRequest, which calls the port's function        (loop)    -
 * another                        dispatchEvents: what else was fetched, then a pass       (loop)    -
 *
 * `waits` has a bit for each kind of thing that only a pass does. Some stand for two in the code: MARKED for the board and SharedSignals, MAIL for the inbox
 * and what is held of it, OBSERVER for those of passes and those of waiting, WATCHES for those to be tried again and those that are lost.
 * QUEUED is what a run nested in the port's function has taken off the board for the mode of this one.
 *
 * A wake-up may be taken by the sleep in place, together with a request, if its kick is not in the eventfd yet. That is a pass in all but name: the look
 * that follows sees what it announced. The look need not ask whether a wake-up is pending: goToSleep fails then.
 *
 * Properties. (1) Nothing that was announced (by a function that wakes the loop, or by the port's function) waits for a pass when the loop falls asleep.
 * (2) A request that is served in place passes over nothing that was there before the loop looked, not the other descriptor either, and is
 * served in the mode that has the port. (3) Nothing that was announced waits for ever (Quiescence), nor a request; so each pass may be left out.
 */
#define READY ((watched && requests > 0) || other)
#define REPORTS fetch()
#define SLEEPS_RIGHTLY (!(announced & waits))

#define MARKED   1
#define QUEUED   2
#define MAIL     4
#define STOP     8
#define TIMER    16
#define OBSERVER 32
#define WATCHES  64
#define GONE     128               /* the mode has become empty */

#if defined(MUTANT_DEAF_TO_MARKS)
#define LOOKED_FOR (255 - MARKED)
#elif defined(MUTANT_DEAF_TO_QUEUED)
#define LOOKED_FOR (255 - QUEUED)
#elif defined(MUTANT_DEAF_TO_MAIL)
#define LOOKED_FOR (255 - MAIL)
#elif defined(MUTANT_DEAF_TO_STOP)
#define LOOKED_FOR (255 - STOP)
#elif defined(MUTANT_DEAF_TO_TIMERS)
#define LOOKED_FOR (255 - TIMER)
#elif defined(MUTANT_DEAF_TO_OBSERVERS)
#define LOOKED_FOR (255 - OBSERVER)
#elif defined(MUTANT_DEAF_TO_WATCHES)
#define LOOKED_FOR (255 - WATCHES)
#elif defined(MUTANT_MODE_ASKED_FOR_BEHIND_THE_SLEEP)
#define LOOKED_FOR (255 - GONE)
#else
#define LOOKED_FOR 255
#endif

#define CONNECTION  1
#define OTHER 2
#define KICK  4

byte waits;
bit inMode = 1;                    /* the connection's source is in the mode that runs: GONE is not set */
byte requests;                     /* in the connection's socket */
bit other;                         /* another descriptor of the mode is readable */
bit watched = 1;                   /* epoll has the connection: until it is reported to nobody */
bit sleepLimit;                    /* there is one that a timer may be before */
byte reports;                      /* loop thread only: CONNECTION, OTHER, KICK */

/* ghosts */
byte announced;                    /* of `waits`: by calls that have returned, of which each wakes the loop, or by its own thread */
byte done;                         /* of `waits`: by calls that have returned */
bit ended;

#include "wake-word.inc.pml"

/* Only in an atomic step. */
inline fetch() {
    reports = 0;
    if :: watched && requests > 0 -> reports = CONNECTION :: else fi;
    if :: other -> reports = reports | OTHER :: else fi;
    if :: edge -> reports = reports | KICK :: else fi;
    if :: reports == KICK -> reports = 0 :: else fi      /* nothing to deliver */
}

/* Sleeps of any kind, until there is something to pass for. Leaves reports, and nothing else: whoever called it looks again whatever ended it. */
inline sleep() {
    do
    :: atomic { sleepLimit = 1; due = ((waits & TIMER) != 0) };
        if
        :: due -> atomic { fetch(); edge = 0; due = 0 }; take_pending(consumed); break
        :: else ->
            asleep = IN_EPOLL;
            sleep_as_chosen(0, 0);
            awake(consumed);
            if
            :: reports || consumed -> break
            :: else -> sleepLimit = 0          /* adjusted, or for no reason */
            fi
        fi
    od;
    atomic { sleepLimit = 0; consumed = 0 }
}

active proctype Loop() {
    LOOP_THREAD_VARIABLES;
    bit consumed, due, otherBefore;
    byte before, deeds = 1;

pass:
    take_pending(consumed);
    atomic {
        owed[0] = 0; owed[1] = 0; consumed = 0;
        if :: waits & (STOP | GONE) -> ended = 1; goto over :: else fi;
        waits = 0; announced = 0; done = 0
    };
    sleep();
another:
    atomic {
        if
        :: reports & OTHER -> reports = reports & ~OTHER; other = 0; goto another      /* it reads what there is */
        :: (reports & CONNECTION) && inMode -> reports = reports & ~CONNECTION; goto serve
        :: (reports & CONNECTION) && !inMode -> reports = reports & ~CONNECTION; watched = 0; goto another
        :: !(reports & (OTHER | CONNECTION)) -> reports = 0; goto pass
        fi
    };
serve:
    atomic {
        assert(requests > 0);
        requests--;
        if                         /* what the port's function does */
        :: deeds > 0 ->
            deeds--;
            if
            :: waits = waits | MARKED; announced = announced | MARKED
            :: waits = waits | QUEUED; announced = announced | QUEUED
            :: waits = waits | MAIL; announced = announced | MAIL
            :: waits = waits | STOP; announced = announced | STOP
            :: waits = waits | TIMER; announced = announced | TIMER
            :: waits = waits | OBSERVER; announced = announced | OBSERVER
            :: waits = waits | WATCHES; announced = announced | WATCHES
            :: inMode = 0; waits = waits | GONE; announced = announced | GONE
            fi;
            done = done | announced
        :: true
        fi
    };
    atomic { before = done & waits; otherBefore = other };
    if
    :: reports -> goto another
    :: else
    fi;
    atomic {
        if
        :: waits & LOOKED_FOR -> before = 0; otherBefore = 0; goto pass
        :: else -> owed[0] = 0; owed[1] = 0                /* ghost: there is nothing for a pass to do */
        fi
    };
    sleep();
    atomic {
#ifdef MUTANT_MODE_ASKED_FOR_BEFORE_THE_SLEEP
        if
        :: reports == CONNECTION -> reports = 0;
#elif defined(MUTANT_TAKES_ONE_OF_MANY)
        if
        :: inMode && (reports & CONNECTION) -> reports = 0;
#else
        if
        :: inMode && reports == CONNECTION -> reports = 0;
#endif
            assert(inMode && !(before & waits) && !(otherBefore && other));
            before = 0; otherBefore = 0;
            goto serve
        :: else -> before = 0; otherBefore = 0; goto another
        fi
    };
over:
    skip
}

#ifndef REQUESTS
#define REQUESTS 3
#endif

active proctype Client() {
    byte left = REQUESTS;
    do
    :: left > 0 -> atomic { requests++; left-- }
    :: left == 0 -> break
    od
}

inline announce(kind) {
    atomic { waits = waits | kind };
    wake_up(old);
    atomic { announced = announced | (kind & waits); done = done | (kind & waits) }
}

inline do_quietly(kind) { atomic { waits = waits | kind; done = done | kind } }

/* adjust.pml has the details. */
inline add_timer() {
    atomic { waits = waits | TIMER; sleeps = sleepLimit };
    if
    :: sleeps ->
        atomic {
            old = W;
            if :: W != PENDING -> W = ADJUSTING :: else fi
        };
        if
        :: IS_SLEEPING(old) -> kernel_wake(old)
        :: else
        fi
    :: else
    fi;
    atomic { announced = announced | (TIMER & waits); done = done | (TIMER & waits); old = 0; sleeps = 0 }
}

active proctype Thread() {
    byte old;
    bit sleeps;
    if
    :: announce(MARKED)
    :: announce(MAIL)
    :: announce(STOP)
    :: add_timer()
    :: do_quietly(MAIL)
    :: do_quietly(OBSERVER)
    fi
}

active proctype OtherThread() {
    byte old;
    if
    :: wake_up(old)
    :: other = 1
    :: atomic { inMode = 0; waits = waits | GONE; done = done | GONE }
    fi
}

active proctype Quiescence() {
    timeout;
    assert(ended || (ASLEEP && !owed[0] && !(announced & waits) && !other && !(inMode && requests)))
}
