/* Signalling a source while it is added to loops and removed from them: some loop that contains it checks it. Code:
 * Sources/RunLoopCore/Item/Source+Signal.swift (signal, publishOnlyRegistration), Item/Registration.swift (fill, setPending),
 * Loop/RunLoop+Sources.swift (link, unlink), RunLoop+SignalledSources.swift (takeSignals). signal.pml covers the bits of a source that stays where it
 * is, and waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * signal: flag = 1               flag.exchange(1)                                       seq_cst   publish: flag; the loop's exchange(0)
 * signal: only                   onlyRegistration.load()                                seq_cst   publish: only; what fill stored before is seen
 * signal: set                    its slot.load(), pendingSignals.load(): sets that bit  relaxed   see only; may be those of a later loop
 * signal: shared++, if none      SharedSignals.increment()                              seq_cst   look: shared
 * fill: bitmap, slot             expectSignals(in:), slot = ...                         relaxed   publish: only
 * publish: only                  onlyRegistration.store()                               seq_cst   signal: only is a store here and a load there,
 * publish: flag -> set           flag.load(), then set the only bit, or shared++        seq_cst   and flag the other way round: one sees the other
 * look: bits = 0, flag = 0       pendingSignals.take; flag.exchange(0) of their sources seq_cst   signal: set, flag
 * look: shared != seen           SharedSignals.count, then all of the loop's sources    seq_cst   signal: shared++
 *
 * There are loops 0 and 1; the source's slot in loop L is L (a different number in each). Its inline registration is the one in the first loop that
 * contains it; the other registration is that in a second loop. An unused registration keeps its contents; a late signaller reads those, or newer
 * ones. If the bit of a slot without a source, or with a different one, is set, a loop checks in vain. Checking, adding and removing exclude each
 * other (the loops' locks); signalling does not.
 *
 * The argument. A signaller reads where the source was at some moment after its flag = 1. If the source has left that loop, the next loop it is added
 * to sees the flag, because otherwise the signaller would have read what was stored when the source left (MUTANT_PUBLISHES_BY_PLAIN_STORE). A
 * signaller that reads that the source is in no loop, or in several, counts a shared signal, and whichever loop contains the source once the locks
 * are free checks it.
 *
 * Property. When everything is quiet and some loop contains the source, the source is not signalled: each signal is followed by a performance.
 */
#define NO_SLOT  2
#define NOWHERE  2                 /* no bitmap */
#define INLINE   0
#define SECOND   1
#define NONE     2

#ifndef MOVES
#define MOVES 3
#endif

bit locked;
bit flag;
byte only = NONE;
byte slot[2] = NO_SLOT, bitmap[2] = NOWHERE;            /* of a registration */
bit bits[4];                      /* bitmap * 2 + slot */
byte shared;
byte inLoop[2] = NONE;          /* the registration that the source has in each loop. Guarded by the lock */

/* The store buffer of the mover's CPU, for `only`. The locks do not empty it, because they are plain stores. */
#ifdef MUTANT_PUBLISHES_BY_PLAIN_STORE
chan buffer = [MOVES] of { byte };
active proctype StoreBuffer() {
end: do :: atomic { buffer?only } od
}
#define STORE_ONLY(s) buffer!s
#else
#define STORE_ONLY(s) only = s
#endif

inline count_shared() { shared++ }

/* Any thread. The bitmap is read after the slot. */
inline set(registration, p) {
    b = bitmap[registration];
    if
    :: b != NOWHERE && p != NO_SLOT -> bits[b * 2 + p] = 1
    :: else -> count_shared()
    fi;
    b = 0
}

inline set_bits() {
    s = only;
    if
    :: s != NONE -> p = slot[s]; set(s, p)
    :: else -> count_shared()
    fi;
    p = 0; s = 0
}

active [2] proctype Signaller() {
    byte p, s, b;
#ifdef MUTANT_BITS_BEFORE_THE_FLAG
    set_bits();
    flag = 1
#else
    flag = 1;
    set_bits()
#endif
}

/* Under the lock. */
inline look_at_flag() {
#ifdef MUTANT_PUBLISHES_WITHOUT_A_LOOK
    skip
#else
    if
    :: flag ->
        if
        :: s != NONE -> p = slot[s]; set(s, p)
        :: else -> count_shared()
        fi
    :: else
    fi
#endif
}

inline publish() {
    s = (inLoop[0] == NONE -> inLoop[1] : (inLoop[1] == NONE -> inLoop[0] : NONE));
    STORE_ONLY(s);
    look_at_flag();
    p = 0; s = 0
}

inline add(l) {
    registration = (inLoop[1 - l] == INLINE -> SECOND : INLINE);
    atomic { inLoop[l] = registration; slot[registration] = NO_SLOT };
#ifdef MUTANT_BITMAP_BEHIND_THE_SLOT
    slot[registration] = l;
    publish();
    bitmap[registration] = l;
#else
    bitmap[registration] = l;
    slot[registration] = l;
    publish();
#endif
    registration = 0
}

inline remove(l) { inLoop[l] = NONE; publish() }

active proctype Mover() {
    byte left = MOVES, p, s, b, registration;
    bit l;
    do
    :: left > 0 ->
        left--;
        if :: l = 0 :: l = 1 fi;
        atomic { !locked -> locked = 1 };
        if
        :: inLoop[l] == NONE -> add(l)
        :: else -> remove(l)
        fi;
        locked = 0;
        l = 0
    :: left == 0 -> break
    od
}

#ifdef MUTANT_PUBLISHES_BY_PLAIN_STORE
#define LOOPS_BEGIN 4              /* StoreBuffer, two signallers, Mover */
#else
#define LOOPS_BEGIN 3
#endif

/* A pass of each loop. */
active [2] proctype Loop() {
    byte seen;
#define ME (_pid - LOOPS_BEGIN)
end:
    do
    :: atomic {
        !locked && (bits[ME * 2] || bits[ME * 2 + 1] || shared != seen) ->
        if
        :: shared != seen || (bits[ME * 2 + ME] && inLoop[ME] != NONE) ->
            if :: inLoop[ME] != NONE -> flag = 0 :: else fi
        :: else
        fi;
        bits[ME * 2] = 0; bits[ME * 2 + 1] = 0; seen = shared
    }
    od
}

active proctype Quiescence() {
    timeout;
    assert(!flag || (inLoop[0] == NONE && inLoop[1] == NONE))
}
