/* The wake word and the two ways to sleep, included by wake.pml, post.pml, signal.pml, adjust.pml and guest.pml. Code:
 * Sources/RunLoopCore/Poller/WakeWord.swift; for the order of the steps of a pass: Sources/RunLoopCore/Loop/Run.swift.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * wake_up: old = W; W = PENDING  before = W.exchange(pending)                           acq_rel   release: the loop's next RMW on W (its acquire side)
 *                                                                                                 acquire: CAS to sleeping (for wakeDescriptor)
 * adjust: old = W                before = W.load()                                      relaxed   a hint: see below
 * adjust: W == old -> ADJUSTING  W.compareExchange(before -> adjusting)                 acq_rel   as wake_up; failure: relaxed, a new hint
 * kernel_wake: sum++, edge = 1   write(wakeDescriptor, 1)                               kernel    epoll_wait; every write is a new edge
 * kernel_wake: parked = 0        futex(W, WAKE, 1)                                      kernel    futex wait; the kernel's bucket lock orders the two
 * take_pending                   W.load(), then W.exchange(awake)                       relaxed,  the load is a hint, the exchange is what acquires; only
 *                                                                                       acq_rel   the loop replaces `pending`, so it finds what it saw
 * go_to_sleep: published = 1     wakeDescriptor.store(…)                                relaxed   published by the release side of the CAS below
 * go_to_sleep: W == AWAKE -> …   W.compareExchange(awake -> sleepingOnWord or …InEpoll) acq_rel   Reads the waker's RMW, or precedes it in W's
 *                                                                                                 modification order: no third case
 * go_to_sleep: parked = 1        futex(W, WAIT, sleepingOnWord): atomically checks W    kernel    see above
 * go_to_sleep: edge -> …         epoll_pwait2                                           kernel    see above
 * awake: old = W; W = AWAKE      wakeFromSleep: old = W.exchange(awake)                 acq_rel   acquire: every wake_up and adjust before it in W's order
 *
 * Why sequential consistency (Spin's memory model) is sufficient here: every access to W that decides anything is a read-modify-write, so W has one
 * order in which each step reads its predecessor, and all steps are release and acquire. A WakeUp either precedes the loop's exchange(awake) in that
 * order; then everything its thread did before is visible to the pass that follows. Or it follows it; then the CAS to sleeping fails, or precedes it
 * and the waker sees `sleeping`. No step stores to one word and then loads another (store buffering, the QEMU and GLib bugs), so no fence is needed.
 * The one tempting plain store (W = awake after waking) would be such a step: MUTANT_AWAKE_BY_PLAIN_STORE shows this, with a store buffer.
 *
 * The load in `adjust` may be stale in one way that matters: it reads `pending` or `adjusting`, and nothing is done. The caller has held the loop's
 * lock before. If the loop last checked its queues before that (and so does not know the item), everything the loop did until then is visible,
 * including its taking of that value: so the load can only see later values, which the loop must still take, before or instead of sleeping.
 *
 * The replaced value says which system call to make. Checking anything else would be too late: the loop may be in another sleep by then. The call
 * would not harm that sleep, but the eventfd would have one write too few or too many (MUTANT_WAKE_READS_WHERE, adjust.pml).
 */
#define AWAKE     0
#define PENDING   1
#define ON_WORD   2
#define IN_EPOLL  3
#define ADJUSTING 4
#define IS_SLEEPING(w) ((w) == ON_WORD || (w) == IN_EPOLL)

#ifndef SPURIOUS
#define SPURIOUS 1                 /* how many waits return for no reason (EINTR, timer, spurious futex wake, another descriptor) */
#endif

byte W;
bit published;                     /* wakeDescriptor is not -1 */
bit edge;                          /* an edge of the eventfd that epoll has not reported so far */
bit parked;                        /* the loop's thread is in the futex's queue */
#ifdef MUTANT_WAKE_READS_WHERE
bit where;                         /* 1: epoll */
#endif
#ifdef COUNTED
short sum;                         /* the eventfd's sum, less the wakes that the loop has counted: read only at thread exit */
bit closed;                        /* the eventfd is closed, and its number may have been reused */
#define ADD_TO_SUM assert(!closed); sum++
#else
#define ADD_TO_SUM skip
#endif

/* Variables used by the inlines below, private to the loop's thread: declare them in the loop's process. */
#define LOOP_THREAD_VARIABLES \
    byte spuriousLeft = SPURIOUS; \
    byte asleep;    /* what goToSleep put into W: 0 before and after */ \
    bit slept;      /* the CAS to it succeeded */ \
    bit timedOut    /* the deadline passed during the wait */

/* Ghosts: read by assertions only. */
byte kernelWakesAllowed;           /* sleeps that a waker has ended, or may still end, minus wakers' system calls so far */
bit owed[2];                       /* the activation at this depth owes a pass: a WakeUp arrived since its last pass began */

/* The store buffer of the loop's CPU, with one entry, for W only. Used by one mutant. Any locked instruction of that CPU empties it. */
#ifdef MUTANT_AWAKE_BY_PLAIN_STORE
bit buffered;
#define FLUSH if :: buffered -> W = AWAKE; buffered = 0 :: else fi
active proctype StoreBuffer() {
end: do :: atomic { buffered -> W = AWAKE; buffered = 0 } od
}
#else
#define FLUSH skip
#endif

#if defined(MUTANT_WAKE_TEST_REVERSED)
#define ONE_PER_SLEEP skip
#else
#define ONE_PER_SLEEP assert(kernelWakesAllowed > 0); kernelWakesAllowed--
#endif

/* Before W becomes AWAKE: the loop itself ends a sleep that no waker has ended, so no system call is allowed for it. */
#define END_SLEEP kernelWakesAllowed = kernelWakesAllowed - IS_SLEEPING(W)

#ifndef ALSO_REPORTED              /* what else a write to the eventfd makes ready */
#define ALSO_REPORTED skip
#endif

inline wake_in_epoll() { atomic { ONE_PER_SLEEP; if :: published -> ADD_TO_SUM; edge = 1; ALSO_REPORTED :: else fi } }
inline wake_on_word() { atomic { ONE_PER_SLEEP; parked = 0 } }

inline kernel_wake(before) {
#if defined(MUTANT_WAKE_WITHOUT_SYSCALL)
    skip
#elif defined(MUTANT_WAKE_READS_WHERE)
    if
    :: where -> wake_in_epoll()
    :: else  -> wake_on_word()
    fi
#else
    if
    :: before == IN_EPOLL -> wake_in_epoll()
    :: else               -> wake_on_word()
    fi
#endif
}

/* Any thread, any signal handler. */
inline wake_up(old) {
    atomic { old = W; W = PENDING; owed[0] = 1; owed[1] = 1 };
    if
#if defined(MUTANT_WAKE_TEST_REVERSED)
    :: !IS_SLEEPING(old) -> kernel_wake(old)
#elif defined(MUTANT_WAKE_ALWAYS_SYSCALL)
    :: true -> kernel_wake(old)
#else
    :: IS_SLEEPING(old) -> kernel_wake(old)
#endif
    :: else
    fi;
    old = 0
}

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

/* Loop thread: returns to awake. `consumed` becomes 1 if this took a wake-up. */
inline awake(consumed) {
#ifdef MUTANT_AWAKE_BY_PLAIN_STORE
    atomic { FLUSH; consumed = consumed || (W == PENDING); buffered = 1 }
#else
    atomic { consumed = consumed || (W == PENDING); END_SLEEP; W = AWAKE }
#endif
}

/* Loop thread, at the beginning of a pass. */
inline take_pending(consumed) {
    if
    :: W == PENDING -> awake(consumed)
    :: else
    fi
}

inline publish() {
    if
    :: asleep == IN_EPOLL -> published = 1
    :: else
    fi
#ifdef MUTANT_WAKE_READS_WHERE
    ; where = (asleep == IN_EPOLL)
#endif
}

#ifdef MUTANT_SLEEP_IGNORES_ADJUSTING
#define MAY_SLEEP (W == AWAKE || W == ADJUSTING)
#else
#define MAY_SLEEP (W == AWAKE)
#endif
#ifndef REPORTS                    /* what else epoll reports when it returns; READY: that it has something */
#define REPORTS skip
#endif
#ifndef SLEEPS_RIGHTLY             /* what else must hold when the loop falls asleep */
#define SLEEPS_RIGHTLY 1
#endif

/* Loop thread. canTimeOut: this activation has a deadline. Sets slept and timedOut. Leaves W unchanged: call awake() next. */
inline go_to_sleep(depth, canTimeOut) {
    if :: asleep = IN_EPOLL :: asleep = ON_WORD fi;
    sleep_as_chosen(depth, canTimeOut)
}

inline sleep_as_chosen(depth, canTimeOut) {
#ifndef MUTANT_PUBLISH_AFTER_CAS
    publish();
#endif
#if defined(MUTANT_SLEEP_BY_PLAIN_STORE)
    atomic { W = asleep; kernelWakesAllowed++; slept = 1 };
#elif defined(MUTANT_SLEEP_BY_CHECK_THEN_STORE)
    slept = (W == AWAKE);
    if :: slept -> atomic { W = asleep; kernelWakesAllowed++ } :: else fi;
#else
    atomic {
        FLUSH;
        if
        :: MAY_SLEEP -> W = asleep; kernelWakesAllowed++; slept = 1; assert(!owed[depth]); assert(SLEEPS_RIGHTLY)
        :: else      -> slept = 0
        fi
    };
#endif
#ifdef MUTANT_PUBLISH_AFTER_CAS
    publish();
#endif
    if
    :: !slept
    :: else ->
        if
        :: asleep == IN_EPOLL ->
end_epoll:
            if
            :: atomic { edge -> REPORTS; edge = 0 }
#ifdef READY
            :: atomic { !edge && (READY) -> REPORTS }
#endif
#if SPURIOUS
            :: atomic { spuriousLeft > 0 -> spuriousLeft-- }
#endif
            :: atomic { canTimeOut -> timedOut = 1 }
            fi
        :: else ->
park:
            atomic { if :: W == ON_WORD -> parked = 1 :: else fi };
end_futex:
            if
            :: !parked ->
                /* EINTR or spurious: waits again without a pass in between (for epoll, as if it had not returned). */
                if
                :: W == ON_WORD -> goto park
                :: true
                fi
#if SPURIOUS
            :: atomic { parked && spuriousLeft > 0 -> spuriousLeft--; parked = 0 }
#endif
            :: atomic { parked && canTimeOut -> parked = 0; timedOut = 1 }
            fi
        fi
    fi;
    atomic {
#ifdef COUNTED
        countable = slept && (asleep == IN_EPOLL);
#endif
        slept = 0; asleep = 0
    }
}

#define ASLEEP ((W == IN_EPOLL && !edge) || (W == ON_WORD && parked))
