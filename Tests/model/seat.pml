/* Signalling a source that comes into loops and leaves them meanwhile: some loop that has it looks at it.
 * Code: Sources/RunLoopCore/Item/Source.swift (signal, publishSeat), Item/Seat.swift (take, mark), Loop/RunLoop+Sources.swift (link, unlink),
 * RunLoop+SignalledSources.swift (takeSignals). signal.pml shows what a mark is worth while the source stays where it is, and waking.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * signal: flag = 1               flag.exchange(1)                                       seq_cst   publish: flag; the loop's exchange(0)
 * signal: solePlace              solePlace.load()                                       seq_cst   publish: solePlace; what take stored before is seen
 * signal: mark                   board.load(): a mark for that place there              relaxed   see solePlace; may be a later board than the place's
 * signal: soleSeat, if no place  soleSeat.load(), then that seat's place and board      seq_cst   publish: soleSeat
 * signal: announce, if neither   SharedSignals.announce()                               seq_cst   look: shared
 * take: board, place             board.store(), place.store()                           relaxed   publish: solePlace, soleSeat
 * publish: soleSeat, solePlace   soleSeat.store(), solePlace.store()                    seq_cst   signal: each of them is a store here and a load there,
 * publish: flag -> mark          flag.load(), then mark the sole seat, or announce      seq_cst   and flag the other way round: one sees the other
 * look: marks = 0, flag = 0      board.take; flag.exchange(0) of who sits there         seq_cst   signal: mark, flag
 * look: shared != seen           SharedSignals.seen, then all of the loop's sources     seq_cst   signal: announce
 *
 * Loops 0 and 1; the source's place in loop L is L (another number in each). Its first seat goes to the loop that has it first, the other one to a second; a
 * seat that is given away keeps what was in it, and a late signaller reads that, or what is there by then. A mark at a place that is nobody's, or somebody
 * else's, makes a loop look in vain. Looks, adding and removing exclude each other (the loops' locks); signals are outside.
 *
 * The argument. A signaller reads where the source was at some moment behind its flag = 1. If it has left from there, the next loop that it comes into sees
 * the flag, or the signaller would have read what was stored when it left (MUTANT_PUBLISHES_BY_PLAIN_STORE). Whoever reads that it is nowhere, or in several
 * loops, announces, and whichever loop has it when the locks are free again looks.
 *
 * Property. When all is quiet and some loop has the source, it is not signalled any more: each signal is followed by a performance.
 */
#define NO_PLACE 2
#define NOWHERE  2                 /* no board */
#define FIRST    0
#define SECOND   1
#define NO_SEAT  2

#ifndef MOVES
#define MOVES 3
#endif

bit locked;
bit flag;
byte solePlace = NO_PLACE, soleSeat = NO_SEAT;
byte place[2] = NO_PLACE, board[2] = NOWHERE;            /* of a seat */
bit marks[4];                      /* board * 2 + place */
byte shared;
byte seatIn[2] = NO_SEAT;          /* of a loop: the seat that the source has there. Under the lock */

/* The store buffer of the mover's CPU, for solePlace only: the locks, which are plain stores, do not empty it. */
#ifdef MUTANT_PUBLISHES_BY_PLAIN_STORE
chan buffer = [MOVES] of { byte };
active proctype StoreBuffer() {
end: do :: atomic { buffer?solePlace } od
}
#define STORE_PLACE(p) buffer!p
#else
#define STORE_PLACE(p) solePlace = p
#endif

inline announce() { shared++ }

/* Any thread. The board is read after the place. */
inline mark(seat, p) {
    b = board[seat];
    if
    :: b != NOWHERE && p != NO_PLACE -> marks[b * 2 + p] = 1
    :: else -> announce()
    fi;
    b = 0
}

inline set_marks() {
    p = solePlace;
    if
    :: p != NO_PLACE -> mark(FIRST, p)
    :: else ->
        s = soleSeat;
        if
        :: s != NO_SEAT -> p = place[s]; mark(s, p)
        :: else -> announce()
        fi
    fi;
    p = 0; s = 0
}

active [2] proctype Signaller() {
    byte p, s, b;
#ifdef MUTANT_MARKS_BEFORE_THE_FLAG
    set_marks();
    flag = 1
#else
    flag = 1;
    set_marks()
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
        :: s != NO_SEAT -> p = place[s]; mark(s, p)
        :: else -> announce()
        fi
    :: else
    fi
#endif
}

inline publish() {
    s = (seatIn[0] == NO_SEAT -> seatIn[1] : (seatIn[1] == NO_SEAT -> seatIn[0] : NO_SEAT));
    soleSeat = s;
    if
    :: s == FIRST -> STORE_PLACE(place[FIRST])
    :: else       -> STORE_PLACE(NO_PLACE)
    fi;
    look_at_flag();
    p = 0; s = 0
}

inline add(l) {
    seat = (seatIn[1 - l] == FIRST -> SECOND : FIRST);
    atomic { seatIn[l] = seat; place[seat] = NO_PLACE };
#ifdef MUTANT_BOARD_BEHIND_THE_PLACE
    place[seat] = l;
    publish();
    board[seat] = l;
#else
    board[seat] = l;
    place[seat] = l;
    publish();
#endif
    seat = 0
}

inline remove(l) { seatIn[l] = NO_SEAT; publish() }

active proctype Mover() {
    byte left = MOVES, p, s, b, seat;
    bit l;
    do
    :: left > 0 ->
        left--;
        if :: l = 0 :: l = 1 fi;
        atomic { !locked -> locked = 1 };
        if
        :: seatIn[l] == NO_SEAT -> add(l)
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

/* A pass of each. */
active [2] proctype Loop() {
    byte seen;
#define ME (_pid - LOOPS_BEGIN)
end:
    do
    :: atomic {
        !locked && (marks[ME * 2] || marks[ME * 2 + 1] || shared != seen) ->
        if
        :: shared != seen || (marks[ME * 2 + ME] && seatIn[ME] != NO_SEAT) ->
            if :: seatIn[ME] != NO_SEAT -> flag = 0 :: else fi
        :: else
        fi;
        marks[ME * 2] = 0; marks[ME * 2 + 1] = 0; seen = shared
    }
    od
}

active proctype Quiescence() {
    timeout;
    assert(!flag || (seatIn[0] == NO_SEAT && seatIn[1] == NO_SEAT))
}
