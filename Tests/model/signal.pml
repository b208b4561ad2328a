/* Signalling version-0 sources through a bitmap: no signal is lost, none is performed twice, and "Signal; WakeUp" is sufficient. Code:
 * Sources/RunLoopCore/Item/Source+Signal.swift (flag), Item/PendingSignals.swift (word, summary), Loop/RunLoop+SignalledSources.swift (taken: the
 * queues of the modes), Loop/Run.swift (the pass), with wake-word.inc.pml for waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * signal: flag = 1               flag.exchange(1)                                       acq_rel   the loop's flag.exchange(0), both ways (see below)
 * signal: !(word & bit)          word.load()                                            acquire   another signaller's fetch_or of that bit
 * signal: word |= bit            word.fetch_or(bit)                                     acq_rel   the loop's word.exchange(0), both ways
 * signal: !summary -> 1          summary.load(), summary.fetch_or(…)                    relaxed,  the loop's summary.exchange(0), both ways
 *                                                                                       acq_rel
 * WakeUp                         WakeUp                                                 acq_rel   wake-word.inc.pml
 * look: summary                  summary.load(): skip if 0                              relaxed   W.exchange(awake) before the pass
 * look: summary = 0              summary.exchange(0)                                    acq_rel   signal's
 * look: word = 0                 taken |= word.exchange(0)                              acq_rel   signal's
 * look: taken                    for each bit: clear it in taken, then:                 (loop)    -
 * look: flag = 0                 was = flag.exchange(0); if was { perform }             acq_rel   signal's; a rival loop's (a source may be in two loops)
 *
 * The bits are set if they are not set, not "if the flag was 0" (MUTANT_BITS_ONLY_IF_FLAG_WAS_CLEAR): another signaller may have set the flag, but
 * not yet the bits, and perhaps never calls WakeUp. Why the loads may be stale and still be right. Let B be a signaller. (1) B's exchange of flag
 * either precedes a loop's exchange(0) of it, which then performs with B's data visible; or it follows the last one, F, and then B has acquired
 * everything before F: its word.load sees the word.exchange before F or a later one. (2) So if B sees its bit set, that bit was set after every
 * word.exchange whose F preceded B; the word.exchange that takes it is followed by an F after B. (3) The same holds for summary: whichever thread set
 * the word's bit (B itself, with an RMW after the loop's; or another, whose fetch_or B's acquire load read) has seen the loop's last word.exchange,
 * hence its summary.exchange before that; B's summary.load, ordered after, is not older. (4) The bit that B saw or set happens before B's WakeUp, so
 * the loop's relaxed summary.load after W.exchange(awake) sees it (read-read coherence).
 *
 * Bits that were taken belong to the mode, not to the stack of the activation that took them (MUTANT_TAKEN_BITS_ON_STACK): a perform may run the loop
 * again in the same mode, and a run with returnAfterSourceHandled, or a Stop, returns before all bits are checked.
 *
 * Why flag is cleared by an exchange: two loops may check one source (MUTANT_FLAG_BY_LOAD_AND_STORE, with RIVAL: performed twice). With a single loop
 * and sequential consistency load and store would be enough (the mutant passes the default configuration). But then B's exchange may fall between
 * them, and nothing makes what B wrote visible to that perform: the exchange is also the acquire.
 *
 * Sources 0 and 1 share a word. Threads: one signals 0 without WakeUp, one signals 0 with it, one signals 1 with it. The perform of source 0 runs the
 * loop again, in the same mode or in one without sources, with or without a deadline. The outer run may return after a handled source and be started
 * again. Configurations: default; RIVAL: instead of the third thread, another loop that also contains source 0; HANDLER: the second thread is a
 * signal handler on the loop's own thread, between any two steps. (A handler that interrupts a signalling thread is an interleaving of the default:
 * the steps never wait.)
 */
#include "wake-word.inc.pml"

bit flag[2];
byte word;
bit summary;
byte taken;                        /* loop thread only */
byte depth;                        /* loop thread only */
bit otherMode;                     /* loop thread only: the nested activation runs the mode without sources */
bit inHandler;

/* ghosts */
byte data[2];                      /* what a signaller wrote before signalling: a version number */
byte seen[2];                      /* newest version that a perform was able to read */
byte due[2];                       /* version that must be seen without another wake-up */
bit unconsumed[2];                 /* signals since the last exchange of the flag to 0 */

inline set_flag(i) { atomic { flag[i] = 1; unconsumed[i] = 1 } }

inline set_bits(i) {
#ifdef MUTANT_SUMMARY_BEFORE_WORD
    if :: !summary -> summary = 1 :: else fi;
    if :: !(word & (1 << i)) -> atomic { word = word | (1 << i) } :: else fi
#else
    if :: !(word & (1 << i)) -> atomic { word = word | (1 << i) } :: else fi;
    if :: !summary -> summary = 1 :: else fi
#endif
}

inline signal(i, was) {
#if defined(MUTANT_BITS_ONLY_IF_FLAG_WAS_CLEAR)
    atomic { was = flag[i]; flag[i] = 1; unconsumed[i] = 1 };
    if :: !was -> set_bits(i) :: else fi;
    was = 0
#elif defined(MUTANT_BITS_BEFORE_FLAG)
    set_bits(i);
    set_flag(i)
#else
    set_flag(i);
    set_bits(i)
#endif
}

/* was = flag.exchange(0); the thread that gets the 1 performs. */
inline claim(i, was) {
#if defined(MUTANT_FLAG_BY_LOAD_AND_STORE)
    was = flag[i];
    if
    :: was -> atomic { flag[i] = 0; assert(unconsumed[i]); unconsumed[i] = 0 }
    :: else
    fi
#elif defined(MUTANT_FLAG_CLEARED_AFTER_PERFORM)
    atomic { was = flag[i] }
#else
    atomic {
        was = flag[i]; flag[i] = 0;
        if :: was -> assert(unconsumed[i]); unconsumed[i] = 0 :: else fi
    }
#endif
}

inline call(i) {
    seen[i] = data[i]
#ifdef MUTANT_FLAG_CLEARED_AFTER_PERFORM
    ; atomic { flag[i] = 0; unconsumed[i] = 0 }
#endif
}

#ifdef HANDLER
#define INTERRUPTIBLE provided (!inHandler)
#else
#define INTERRUPTIBLE
#endif

active proctype Loop() INTERRUPTIBLE {
    LOOP_THREAD_VARIABLES;
    bit consumed[2], hasDeadline, was;
    byte i, onStack, nestedLeft = 1, restartsLeft = 1;

pass:
    take_pending(consumed[depth]);
    atomic { owed[depth] = 0; consumed[0] = 0 };
    if
    :: otherMode -> goto beforeSleep
    :: else
    fi;
    if
    :: summary ->
#if defined(MUTANT_SUMMARY_CLEARED_AFTER_WORDS)
        atomic { taken = taken | word; word = 0 };
        summary = 0
#elif defined(MUTANT_WORD_BY_LOAD_AND_STORE)
        summary = 0;
        taken = taken | word;
        word = 0
#else
        summary = 0;
        atomic { taken = taken | word; word = 0 }
#endif
    :: else
    fi;
look:
    if
    :: atomic { taken & 1 -> taken = taken & ~1; i = 0 }
    :: atomic { !(taken & 1) && (taken & 2) -> taken = taken & ~2; i = 1 }
    :: !taken -> goto beforeSleep
    fi;
    claim(i, was);
    if
    :: was ->
        was = 0;
        call(i);
        if
        :: atomic { i == 0 && depth == 0 && nestedLeft > 0 -> nestedLeft--; i = 0 }; goto nest
        :: atomic { depth == 0 && restartsLeft > 0 -> restartsLeft--; i = 0 };         /* HandledSource; the client runs again */
#ifdef MUTANT_TAKEN_BITS_ON_STACK
            taken = 0;
#endif
            goto pass
        :: atomic { depth == 1 && hasDeadline -> i = 0 }; goto leave                   /* HandledSource */
        :: true
        fi
    :: else
    fi;
    i = 0;
    goto look;
beforeSleep:
    go_to_sleep(depth, hasDeadline && depth == 1);
    awake(consumed[depth]);
    if
    :: timedOut -> timedOut = 0; goto leave
    :: else -> goto pass
    fi;

nest:
    atomic {
        depth = 1;
        if
        :: hasDeadline = 0
        :: hasDeadline = 1
        :: hasDeadline = 1; otherMode = 1
        fi;
#ifdef MUTANT_TAKEN_BITS_ON_STACK
        onStack = taken; taken = 0;
#endif
        goto pass
    };
leave:
    atomic {
        depth = 0; hasDeadline = 0; otherMode = 0;
#ifdef MUTANT_TAKEN_BITS_ON_STACK
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
    goto look
}

active proctype SignallerWithoutWake() {
    bit was;
    data[0]++;
    signal(0, was)
}

active proctype Signaller() {
    bit was;
    byte old;
#ifdef HANDLER
    atomic { inHandler = 1; parked = 0 };      /* EINTR: see wake.pml */
#endif
    atomic { data[0]++; due[0] = data[0] };
    signal(0, was);
    wake_up(old);
    inHandler = 0
}

#ifdef RIVAL
/* Another loop that also contains source 0, and checks its flag once, at any time. */
active proctype RivalLoop() {
    bit was;
    claim(0, was);
    if
    :: was -> call(0)
    :: else
    fi
}
#else
active proctype OtherSignaller() {
    bit was;
    byte old;
    atomic { data[1]++; due[1] = data[1] };
    signal(1, was);
    wake_up(old)
}
#endif

active proctype Quiescence() {
    timeout;
    assert(ASLEEP && !owed[depth] && seen[0] >= due[0] && seen[1] >= due[1])
}
