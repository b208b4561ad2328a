/* Connections of one peer whose large payloads share memory: none waits forever. Code: Sources/RunLoopCore/MessagePort/Connection+Limits.swift
 * (`updateReservation`, `Peer`), Connection+Receive.swift (`receive`, `takeNext`).
 *
 * model step                code step                                                                                     guarded by
 * ------------------------  --------------------------------------------------------------------------------------------  --------------------------
 * receive: unreserved       isReservedLocked is false, so takeNext() takes nothing                                        connection
 * receive: begins           noteReceived(): incoming.begin()                                                              connection
 * receive: got++            the piece is received; the last one ends the payload (`finish`)                               connection
 * update                    updateReservation(), if isReservedLocked is false afterwards                                  port, then connection
 * update: reserve_for       Peer.reserve(for:): within the limit, or exempt                                               port
 * update: append            waiting.append(), waitsForMemory                                                              port
 * update: end, first        Peer.endReservation(of:), which calls takeFirstWaiting()                                      port
 * watch                     updateInterest(): the loops watch the socket for packets unless the connection waits           (lock of a loop)
 *
 * The argument. A connection is added to the list under the mutex under which it has found too little memory, and it has found the exemption
 * taken. So while any connection waits, there is an exempt one, which waits for nothing, and looks at the list when its payload ends. Each of
 * those that have reserved memory waits for nothing either. So it is enough to look at the first connection of the list.
 *
 * Several threads may receive from a connection one after the other. None receives anything while `hasMemory` differs from whether a payload is
 * under way. So all pieces have been reserved, and a thread that is late with `update` finds that there is nothing to do.
 *
 * Payloads have one or two pieces, each of which takes one unit of memory. All packets are in the sockets. Two
 * threads serve all connections, each with one step after another in any order. Property. When no step is possible, all payloads have been
 * received, and nothing is reserved. What is reserved never exceeds the limit, and no piece is received that is not reserved.
 */
#define CONNECTIONS 4
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef PAYLOADS
#define PAYLOADS 1
#endif
#ifndef OF_THE_LAST
#define OF_THE_LAST PAYLOADS
#endif
#define NONE 9
/* The payload under way. */
#define PIECES(c) (1 + ((c) / 2 + left[c]) % 2)

byte left[CONNECTIONS], got[CONNECTIONS], reserved[CONNECTIONS];
bit isUnderWay[CONNECTIONS], hasMemory[CONNECTIONS], waits[CONNECTIONS], isIgnored[CONNECTIONS], mutex[CONNECTIONS];
bit portMutex;
byte exempt = NONE, total;
byte list[CONNECTIONS], listed;

inline lock(m) { atomic { !m -> m = 1 } }

#define IS_RESERVED(c) (hasMemory[c] == isUnderWay[c])

/* Under the port's mutex. */
inline reserve_for(c, isThere) {
    if
    :: total + reserved[c] <= LIMIT -> total = total + reserved[c]; isThere = 1
    :: else ->
        if
        :: exempt == NONE -> exempt = c; isThere = 1
        :: else -> isThere = 0
        fi
    fi;
    if :: isThere -> waits[c] = 0; hasMemory[c] = 1 :: else fi
}

/* Under the port's mutex. Sets `next` to NONE if no connection continues. */
inline take_first(next) {
    atomic {
        next = NONE;
        isThere = 0;
#ifndef MUTANT_RELEASES_SILENTLY
        if :: listed > 0 -> first = list[0]; reserve_for(first, isThere) :: else fi;
#endif
        if
        :: isThere ->
            next = first;
            listed--;
            i = 0;
            do :: i < listed -> list[i] = list[i + 1]; i++ :: else -> break od;
            i = 0
        :: else
        fi;
        first = 0
    }
}

inline watch(c) { atomic { isIgnored[c] = waits[c] } }

inline update(c) {
    lock(portMutex);
#ifndef MUTANT_KNOWS_FROM_BEFORE
    lock(mutex[c]);
    underWay = isUnderWay[c];
    mutex[c] = 0;
#endif
    if
    :: waits[c] || hasMemory[c] == underWay -> mustWait = waits[c]; portMutex = 0
    :: !waits[c] && hasMemory[c] && !underWay ->
        atomic {
            if :: exempt == c -> exempt = NONE :: else -> total = total - reserved[c] fi;
            reserved[c] = 0;
            hasMemory[c] = 0
        };
        do
        :: take_first(next);
            portMutex = 0;
            if :: next == NONE -> break :: else fi;
            watch(next);
            lock(portMutex)
        od
    :: !waits[c] && !hasMemory[c] && underWay ->
        reserved[c] = PIECES(c);
        atomic { reserve_for(c, isThere) };
#ifdef MUTANT_IS_ADDED_LATER
        portMutex = 0;
        lock(portMutex);
#endif
        atomic { if :: !isThere -> list[listed] = c; listed++; waits[c] = 1; mustWait = 1 :: else fi };
        portMutex = 0
    fi;
    if :: mustWait -> watch(c) :: else fi
}

#define UNREAD(c) (left[c] > 0 && !isIgnored[c])

active [2] proctype Loop() {
    byte c, first, i, next = NONE;
    bit isThere, needs, underWay, mustWait;

end:
    do
    :: atomic { UNREAD(0) -> c = 0 } goto receive
    :: atomic { UNREAD(1) -> c = 1 } goto receive
    :: atomic { UNREAD(2) -> c = 2 } goto receive
    :: atomic { UNREAD(3) -> c = 3 } goto receive
    od;
receive:
    lock(mutex[c]);
    atomic {
        if
#ifndef MUTANT_RECEIVES_UNRESERVED
        :: !IS_RESERVED(c)
#endif
        :: IS_RESERVED(c) && left[c] == 0
        :: IS_RESERVED(c) && left[c] > 0 && !isUnderWay[c] -> isUnderWay[c] = 1
#ifdef MUTANT_RECEIVES_UNRESERVED
        :: !IS_RESERVED(c) && left[c] > 0 && !isUnderWay[c] -> isUnderWay[c] = 1
        :: !IS_RESERVED(c) && (left[c] == 0 || isUnderWay[c])
#endif
        :: IS_RESERVED(c) && left[c] > 0 && isUnderWay[c] ->
            assert(reserved[c] == PIECES(c));
            got[c]++;
            if :: got[c] == PIECES(c) -> got[c] = 0; isUnderWay[c] = 0; left[c]-- :: else fi
        fi;
        needs = !IS_RESERVED(c);
#ifdef MUTANT_KNOWS_FROM_BEFORE
        underWay = isUnderWay[c];
#endif
        assert(total <= LIMIT)
    };
    mutex[c] = 0;
    if :: needs -> update(c) :: else fi;
    atomic { c = 0; isThere = 0; needs = 0; underWay = 0; mustWait = 0; goto end }
}

init { atomic { left[0] = PAYLOADS; left[1] = PAYLOADS; left[2] = PAYLOADS; left[3] = OF_THE_LAST } }

active proctype Quiescence() {
    timeout;
    assert(left[0] == 0 && left[1] == 0 && left[2] == 0 && left[3] == 0);
    assert(total == 0 && exempt == NONE && listed == 0)
}
