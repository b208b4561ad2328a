/* A mutex that is released by a plain store and a plain load: a thread that finds it held for long pays with membarrier(2). Code:
 * Sources/RunLoopCore/Platform/StoreMutex.swift.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * try_lock                       word.exchange(1) == 0                                  acquire   unlock's word = 0 (the holder's data)
 * slow: WANTED = 1               wanted.store(1)                                        relaxed   made visible by membarrier
 * slow: membarrier               membarrier(PRIVATE_EXPEDITED)                          full      a full barrier here, and at one instant between call and
 *                                                                                                 return on every other CPU, wherever that is in its code
 * slow: try_lock                 word.exchange(1) == 0: inside, and WANTED stays 1      acquire   unlock's word = 0
 * slow: futex_wait               futex wait(wanted, 1), then from WANTED = 1 again      full      the kernel's barrier
 * unlock: WORD = 0               word.store(0); compiler barrier                        release   try_lock
 * unlock: WANTED?                wanted.load()                                          relaxed   the waiters' membarrier
 * unlock: WANTED = 0             wanted.store(0), if it was 1                           relaxed   the wake after it
 * unlock: futex_wake             futex wake(wanted, 1)                                  full      the kernel's barrier
 *
 * The argument. The membarrier cuts the holder's program in two. If the cut precedes its check of `wanted`, it sees 1 and wakes. If the cut follows
 * the check, the earlier `word = 0` is visible to the waiter, which takes the lock (or meets the next holder, for which the same holds: `wanted` is
 * 1). No thread stays asleep while `wanted` is 0 and no wake is on its way. Each `wanted = 0` is followed by a wake by the same thread; a waiter that
 * arrives between the two does not sleep (the kernel compares) or is woken; and a woken thread sets `wanted` again before it checks, for itself and
 * for the remaining sleepers. A thread that acquires the lock leaves `wanted` at 1 for the same reason: at worst, one wake wakes no thread.
 *
 * Memory and kernel are as in owner-lock.pml. Default: total store order. WEAK: stores overtake each other, except releases. NO_MEMBARRIER: the
 * kernel lacks it. Then a thread that releases or wants the lock executes a full fence instead.
 *
 * Properties. One thread at a time is inside, and it sees what the previous one wrote; no thread sleeps forever (an invalid end state, since every
 * thread performs a bounded number of rounds).
 */
#define WORD   0
#define WANTED 1
#define DATA   2

#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define CAPACITY 3

byte memory[3];
typedef Buffer { byte address[CAPACITY]; byte value[CAPACITY]; bit release[CAPACITY]; byte count }
Buffer buffer[THREADS];
bit parked[THREADS];
byte spuriousLeft = 1;

byte holders;                      /* ghost */
byte lastWritten;                  /* ghost: what the previous holder wrote to DATA */

/* ---- memory ---- */

inline store(t, a, v, isRelease) {
    atomic {
        buffer[t].count < CAPACITY ->
        buffer[t].address[buffer[t].count] = a;
        buffer[t].value[buffer[t].count] = v;
        buffer[t].release[buffer[t].count] = isRelease;
        buffer[t].count++
    }
}

inline load(t, a, result) {
    d_step {
        result = memory[a];
        k = 0;
        do
        :: k < buffer[t].count ->
            if :: buffer[t].address[k] == a -> result = buffer[t].value[k] :: else fi;
            k++
        :: else -> break
        od;
        k = 0
    }
}

/* inside a d_step: entry j reaches memory */
inline drain_entry(t, j) {
    memory[buffer[t].address[j]] = buffer[t].value[j];
    k = j;
    do
    :: k + 1 < buffer[t].count ->
        buffer[t].address[k] = buffer[t].address[k + 1];
        buffer[t].value[k] = buffer[t].value[k + 1];
        buffer[t].release[k] = buffer[t].release[k + 1];
        k++
    :: else -> break
    od;
    buffer[t].count--;
    buffer[t].address[buffer[t].count] = 0;
    buffer[t].value[buffer[t].count] = 0;
    buffer[t].release[buffer[t].count] = 0;
    k = 0
}

inline flush(t) {
    d_step { do :: buffer[t].count > 0 -> drain_entry(t, 0) :: else -> break od }
}

#define SAME(t, i, j) (buffer[t].address[i] == buffer[t].address[j])

active [THREADS] proctype Drain() {
    byte k;
end:
    do
    :: d_step { buffer[_pid].count > 0 -> drain_entry(_pid, 0) }
#ifdef WEAK
    :: d_step { buffer[_pid].count > 1 && !buffer[_pid].release[1] && !SAME(_pid, 0, 1) -> drain_entry(_pid, 1) }
    :: d_step {
        buffer[_pid].count > 2 && !buffer[_pid].release[2] && !SAME(_pid, 0, 2) && !SAME(_pid, 1, 2) -> drain_entry(_pid, 2)
    }
#endif
    od
}

/* ---- kernel ---- */

#define HAS_WORD(t) ((buffer[t].count > 0 && buffer[t].address[0] == WORD) || (buffer[t].count > 1 && buffer[t].address[1] == WORD) || \
                     (buffer[t].count > 2 && buffer[t].address[2] == WORD))

/* An exchange. A locked instruction (default) empties the thread's own buffer; an acquire (WEAK) is ordered only after its own stores to the same
 * word. */
inline try_lock(t) {
#ifdef WEAK
    atomic { !HAS_WORD(t) -> got = (memory[WORD] == 0); memory[WORD] = 1 }
#else
    atomic { flush(t); got = (memory[WORD] == 0); memory[WORD] = 1 }
#endif
}

inline membarrier(t) {
    flush(t);
    other = 0;
    do                             /* on each CPU at a different instant */
    :: other < THREADS -> flush(other); other++
    :: else -> break
    od;
    other = 0
}

inline futex_wait(t, word) {
    flush(t);
    atomic { if :: memory[word] == 1 -> parked[t] = 1 :: else fi };
    if
    :: !parked[t]
    :: atomic { parked[t] && spuriousLeft > 0 -> spuriousLeft--; parked[t] = 0 }
    fi
}

inline futex_wake(t) {
    flush(t);
    atomic {
        if
        :: parked[0] -> parked[0] = 0
        :: parked[1] -> parked[1] = 0
#if THREADS > 2
        :: parked[2] -> parked[2] = 0
#endif
        :: else
        fi
    }
}

/* ---- the protocol ---- */

inline want(t) {
    store(t, WANTED, 1, 0);
#ifdef NO_MEMBARRIER
    flush(t)
#else
#ifndef MUTANT_WANTS_WITHOUT_MEMBARRIER
    membarrier(t)
#endif
#endif
}

inline lock(t) {
    try_lock(t);
#ifdef MUTANT_WANTS_ONCE
    if :: !got -> want(t) :: else fi;
#endif
    do
    :: got -> break
    :: else ->
#if defined(MUTANT_TRIES_BEFORE_WANTING)
        try_lock(t);
        if :: !got -> want(t) :: else fi;
#elif defined(MUTANT_WANTS_ONCE)
        try_lock(t);
#else
        want(t);
        try_lock(t);
#endif
#ifdef MUTANT_CLEARS_ON_ENTRY
        if :: got -> store(t, WANTED, 0, 0) :: else fi;
#endif
        if
#ifdef MUTANT_SLEEPS_ON_THE_WORD
        :: !got -> futex_wait(t, WORD)
#else
        :: !got -> futex_wait(t, WANTED)
#endif
        :: else
        fi
    od;
    got = 0
}

inline wake_one(t) {
#ifdef MUTANT_CLEARS_BEHIND_THE_WAKE
    futex_wake(t);
    store(t, WANTED, 0, 0)
#else
    store(t, WANTED, 0, 0);
    futex_wake(t)
#endif
}

inline unlock(t) {
#ifdef MUTANT_LOOKS_BEFORE_STORING
    load(t, WANTED, wanted);
    store(t, WORD, 0, 1);
#else
#ifdef MUTANT_UNLOCKS_RELAXED
    store(t, WORD, 0, 0);
#else
    store(t, WORD, 0, 1);
#endif
#if defined(NO_MEMBARRIER) && !defined(MUTANT_FALLBACK_WITHOUT_FENCE)
    flush(t);
#endif
    load(t, WANTED, wanted);
#endif
    if
    :: wanted -> wake_one(t)
    :: else
    fi;
    wanted = 0
}

inline critical_section(t) {
    atomic { holders++; assert(holders == 1) };
    load(t, DATA, seen);
    assert(seen == lastWritten);
    atomic { seen = (seen + 1) % 8; lastWritten = seen };
    store(t, DATA, seen, 0);
    seen = 0;
    holders--
}

active [THREADS] proctype User() {
    byte k, seen, rounds, other;
    bit got, wanted;
#define SELF (_pid - THREADS)
    do
    :: rounds < ROUNDS ->
        rounds++;
        lock(SELF);
        critical_section(SELF);
        unlock(SELF)
    :: else -> break
    od
}
