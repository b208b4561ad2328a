/* A lock biased toward one thread, the loop's, which locks and unlocks without a locked instruction or a fence; other threads pay with membarrier(2).
 * Code: Sources/RunLoopCore/Platform/OwnerLock.swift. For the locking of items on top of it, see item-guard.pml.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * owner_lock: INSIDE = 1         inside.store(1); compiler barrier                      relaxed   the others' membarrier (no fence of its own)
 * owner_lock: CONTENDED?         contended.load()                                       acquire   other_unlock's contended = 0 (their data)
 * owner_lock: slow path          inside.store(0); compiler barrier; futex wake(inside)  release   the others' inside.load; futex: the kernel's barrier
 *                                ownerWaits.store(1)                                    relaxed   other_lock's check of it
 *                                mutex.lock(); ownerQueued = 1                          acquire   mutex.unlock
 *                                ownerWaits.exchange(0); if 2 futex wake(ownerWaits)    relaxed   other_lock's compare-and-swap, of the same word
 *                                or it begins anew (`retract`, before a slow way that
 *                                takes the lock for itself): attempts
 * owner_unlock: slow             ownerQueued = 0; mutex.unlock()                        release   mutex.lock
 * owner_unlock: fast             inside.store(0); compiler barrier                      release   other_lock's inside.load (owner's data)
 *                                contended.load(); if != 0 futex wake(inside)           relaxed   the others' membarrier; then the kernel's barrier
 * other_lock: lets it pass       if ownerWaits != 0 { if 1, swap for 2; futex           relaxed   owner_lock's exchange
 *                                wait(ownerWaits, 2) until it is woken or a millisecond
 *                                is over }
 * other_lock: mutex              mutex.lock()                                           acquire   mutex.unlock
 * other_lock: CONTENDED = 1      contended.store(1)                                     relaxed   made visible by membarrier
 * other_lock: membarrier         membarrier(PRIVATE_EXPEDITED)                          full      a full barrier here, and at one instant between call and
 *                                                                                                 return on the CPU of the owner, wherever that is in its code
 * other_lock: wait               while inside.load() != 0 { futex wait(inside, 1) }     acquire   owner's inside = 0
 * other_unlock: CONTENDED = 0    contended.store(0)                                     release   owner_lock's contended.load
 * other_unlock: mutex            mutex.unlock()                                         release   mutex.lock (so the next contended = 1 comes after our 0)
 *
 * The argument. The barrier's instant cuts the owner's program in two. Whatever precedes the cut is visible to the other thread when membarrier
 * returns: in particular inside = 1, if the owner is inside or about to check `contended`. Whatever follows the cut sees contended = 1 and goes to
 * the mutex. The cut replaces the StoreLoad fence in lock (inside, contended), and the one in unlock (inside = 0, contended: no lost futex wake).
 * "Compiler barrier" means that the two accesses are emitted in this order; an IPI interrupts between instructions, never inside a reordering.
 *
 * The memory. Each thread has a store buffer (CAPACITY entries). Loads check the thread's own buffer first, and a drain process empties the buffers
 * at any time. Default: total store order (x86-64): first in, first out; mutex operations are locked instructions and empty the thread's own buffer.
 * WEAK: a store may overtake earlier stores to other addresses unless it is a release; mutex.unlock is a buffered release store; mutex.lock is an
 * acquire that empties nothing. (Loads are not reordered in the model. For them the cut is the argument: an interrupted instruction has not
 * happened.) OWNER_STOPS: the owner is kept off the processor forever, at some point between announcing that it waits and acquiring the mutex.
 * NO_MEMBARRIER: the kernel lacks it. Then contended is always 1, so the owner always takes the mutex, and the others do not wait for `inside`, which
 * is occasionally 1. This must be decided before the lock is first used, and must never change.
 *
 * Properties. One thread at a time is inside, and it sees what the previous one wrote. No thread blocks forever (a lost futex wake is an invalid end
 * state, since every thread performs a bounded number of rounds); the other threads are not even blocked by an owner that stops while it waits. While
 * the owner waits for the mutex, each other thread enters at most once, and once more for each time that it has waited to the limit: this covers the
 * thread that holds the mutex, and those that had already checked. A wake-up is not lost because of that limit: TIMEOUTS is how often the limit may
 * be reached. (`ownerWaits` is one word. All changes to it except the first store are read-modify-write operations, and the first store can only be
 * seen late, so it has no store buffer here.)
 */
#define INSIDE    0
#define CONTENDED 1
#define DATA      2
#define MUTEX     3

#define OWNER 0
#define THREADS 3
#ifndef CAPACITY
#define CAPACITY 4
#endif
#ifndef OWNER_ROUNDS
#define OWNER_ROUNDS 3
#endif
#ifndef OTHER_ROUNDS
#define OTHER_ROUNDS 2
#endif

#ifndef TIMEOUTS
#define TIMEOUTS 1
#endif

byte memory[4];                    /* NO_MEMBARRIER: the owner's process sets CONTENDED before the other threads start */
typedef Buffer { byte address[CAPACITY]; byte value[CAPACITY]; bit release[CAPACITY]; byte count }
Buffer buffer[THREADS];
bit started;
bit parked[THREADS];               /* in the futex's queue of `inside` */
byte spuriousLeft = 1;

byte ownerWaits;                   /* 1: the owner waits for the mutex; 2: another thread also waits, for its turn */
bit parkedForOwner[THREADS];       /* in the futex's queue of `ownerWaits` */
byte timeoutsLeft = TIMEOUTS;      /* how many waits for the owner's turn may still end without a wake-up */
byte wentIn[THREADS];              /* ghost: how often each thread entered while the owner waited, except after waiting to the limit */

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
    :: d_step {
        buffer[_pid].count > 3 && !buffer[_pid].release[3] && !SAME(_pid, 0, 3) && !SAME(_pid, 1, 3) && !SAME(_pid, 2, 3) ->
        drain_entry(_pid, 3)
    }
#endif
    od
}

/* ---- kernel and mutex ---- */

inline mutex_lock(t) {
#ifdef WEAK
    atomic { memory[MUTEX] == 0 -> memory[MUTEX] = 1 }
#else
    atomic { memory[MUTEX] == 0 -> flush(t); memory[MUTEX] = 1 }
#endif
}

inline mutex_unlock(t) {
    store(t, MUTEX, 0, 1);
#ifndef WEAK
    flush(t)
#endif
}

inline membarrier(t) {
    flush(t);
    flush(OWNER)                   /* at one instant between call and return */
}

inline futex_wait(t) {
    flush(t);
    atomic { if :: memory[INSIDE] == 1 -> parked[t] = 1 :: else fi };
    if
    :: !parked[t]
    :: atomic { parked[t] && spuriousLeft > 0 -> spuriousLeft--; parked[t] = 0 }
    fi
}

inline futex_wake(t) {
    flush(t);
    atomic { parked[1] = 0; parked[2] = 0 }
}

/* ---- the protocol ---- */

inline end_wait() {
#ifdef MUTANT_TURN_ENDS_BY_LOAD_AND_STORE
    contended = (ownerWaits == 2);
    ownerWaits = 0;
#else
    atomic { contended = (ownerWaits == 2); ownerWaits = 0 };
#endif
#ifndef MUTANT_TURN_DOES_NOT_WAKE
    if
    :: contended -> atomic { parkedForOwner[1] = 0; parkedForOwner[2] = 0 }
    :: else
    fi;
#endif
    contended = 0
}

inline let_owner_pass(t) {
    if
    :: atomic { ownerWaits == 0 }
    :: atomic { ownerWaits != 0 -> ownerWaits = 2 };
        atomic { if :: ownerWaits == 2 -> parkedForOwner[t] = 1 :: else fi };
        if
        :: !parkedForOwner[t]
#ifndef MUTANT_WAITS_FOR_ITS_TURN_WITHOUT_LIMIT
        :: atomic { parkedForOwner[t] && timeoutsLeft > 0 -> timeoutsLeft--; parkedForOwner[t] = 0; timedOut = 1 }
#endif
        fi
    fi
}

inline owner_lock() {
    do
    ::
#ifdef MUTANT_OWNER_CHECKS_BEFORE_STORING
        load(OWNER, CONTENDED, contended);
        store(OWNER, INSIDE, 1, 0);
#else
        store(OWNER, INSIDE, 1, 0);
        load(OWNER, CONTENDED, contended);
#endif
        if
        :: contended ->
#ifndef MUTANT_SLOW_PATH_KEEPS_INSIDE
            store(OWNER, INSIDE, 0, 1);
#endif
#ifndef MUTANT_SLOW_PATH_DOES_NOT_WAKE
            futex_wake(OWNER);
#endif
            contended = 0;
            if
            :: atomic { ownerWaits = 1; wentIn[1] = 0; wentIn[2] = 0 };
#ifdef OWNER_STOPS
                if
                :: skip
                :: skip;
end_stopped:        false
                fi;
#endif
                mutex_lock(OWNER);
                holdsMutex = 1;
                end_wait();
                break
            :: attempts > 0 -> attempts--
            fi
        :: else -> break
        fi
    od
}

inline owner_unlock() {
    if
    :: holdsMutex ->
        holdsMutex = 0;
        mutex_unlock(OWNER)
    :: else ->
#if defined(MUTANT_UNLOCK_DOES_NOT_WAKE)
        store(OWNER, INSIDE, 0, 1)
#elif defined(MUTANT_UNLOCK_CHECKS_BEFORE_STORING)
        load(OWNER, CONTENDED, contended);
        store(OWNER, INSIDE, 0, 1);
        if :: contended -> futex_wake(OWNER) :: else fi;
        contended = 0
#else
#ifdef MUTANT_UNLOCK_STORES_RELAXED
        store(OWNER, INSIDE, 0, 0);
#else
        store(OWNER, INSIDE, 0, 1);
#endif
        load(OWNER, CONTENDED, contended);
        if :: contended -> futex_wake(OWNER) :: else fi;
        contended = 0
#endif
    fi
}

inline wait_for_owner(t) {
#if defined(MUTANT_CONTENDED_AFTER_MEMBARRIER)
    membarrier(t);
    store(t, CONTENDED, 1, 0);
#else
    store(t, CONTENDED, 1, 0);
#ifndef MUTANT_WITHOUT_MEMBARRIER
    membarrier(t);
#endif
#endif
    load(t, INSIDE, inside);
    do
    :: inside -> futex_wait(t);
#ifdef MUTANT_WAITS_ONCE
        inside = 0;
        break
#else
        load(t, INSIDE, inside)
#endif
    :: else -> break
    od
}

inline other_lock(t) {
#ifndef MUTANT_OTHERS_DO_NOT_LET_IT_PASS
    let_owner_pass(t);
#endif
#if defined(NO_MEMBARRIER)
    mutex_lock(t)
#elif defined(MUTANT_WAITS_WITHOUT_MUTEX)
    wait_for_owner(t);
    mutex_lock(t)
#else
    mutex_lock(t);
    wait_for_owner(t)
#endif
}

inline other_unlock(t) {
#if defined(NO_MEMBARRIER) && !defined(MUTANT_FALLBACK_CLEARS_CONTENDED)
    mutex_unlock(t)
#elif defined(MUTANT_CONTENDED_CLEARED_AFTER_MUTEX)
    mutex_unlock(t);
    store(t, CONTENDED, 0, 1)
#else
    store(t, CONTENDED, 0, 1);
    mutex_unlock(t)
#endif
}

inline critical_section(t) {
    atomic {
        holders++;
        assert(holders == 1);
        wentIn[t] = wentIn[t] + (ownerWaits != 0 && t != OWNER && !timedOut);
        timedOut = 0;
        assert(wentIn[t] <= 1)
    };
    load(t, DATA, seen);
    assert(seen == lastWritten);
    atomic { seen = (seen + 1) % 8; lastWritten = seen };
    store(t, DATA, seen, 0);
    seen = 0;
    holders--
}

active proctype Owner() {
    byte k, seen, rounds, attempts = 1;
    bit contended, holdsMutex, timedOut;
#ifdef NO_MEMBARRIER
    memory[CONTENDED] = 1;
#endif
    started = 1;
    do
    :: rounds < OWNER_ROUNDS ->
        rounds++;
        owner_lock();
        critical_section(OWNER);
        owner_unlock()
    :: else -> break
    od
}

active [2] proctype Other() {
    byte k, seen, rounds;
    bit inside, timedOut;
#define SELF (_pid - THREADS)
    started;
    do
    :: rounds < OTHER_ROUNDS ->
        rounds++;
        other_lock(SELF);
        critical_section(SELF);
        other_unlock(SELF)
    :: else -> break
    od
}
