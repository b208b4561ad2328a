/* Connections of one peer whose large payloads share memory: none waits forever. Code: Sources/RunLoopCore/MessagePort/Connection+Limits.swift
 * (`reserveMemory`, `releaseMemory`), Connection+Receive.swift (`receive`, `takeNext`).
 *
 * model step                code step                                                                                     guarded by
 * ------------------------  --------------------------------------------------------------------------------------------  --------------------------
 * receive: begins           noteReceived(): incoming.begin()                                                              connection
 * receive: needs            has(.hasMemory) is false, so takeNext() returns needsMemory                                   connection
 * receive: got++            the piece is received; the last one ends the payload (`finish`)                               connection
 * receive: ended            has(.hasMemory) and not isUnderWay, then releaseMemory()                                      connection, then nothing
 * reserve_for               Peer.reserve(for:): within the limit, or exempt                                               port
 * reserve: append           waiting.append(), waitsForMemory                                                              port
 * release                   Peer.releaseReserved(by:)                                                                     port
 * release: first            takeFirstWaiting()                                                                            port
 *
 * The argument. A connection is added to the list under the mutex under which it has found too little memory, and it has found the exemption
 * taken. So while any connection waits, there is an exempt one, which waits for nothing, and looks at the list when its payload ends. Each of
 * those that have reserved memory waits for nothing either. So it is enough to look at the first connection of the list.
 *
 * A thread clears `hasMemory` after it has received the end of a payload. Meanwhile another thread may have received the beginning of the next one,
 * and even pieces of it. That payload reserves memory later, or waits in its middle.
 *
 * Two connections have payloads of one piece, two of two pieces, each of which takes one unit of memory. All packets are in the sockets. Two
 * threads serve all connections, each with one step after another in any order. Property. When no step is possible, all payloads have been
 * received, and nothing is reserved. What is reserved never exceeds the limit.
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
#define PIECES(c) (1 + (c) / 2)

byte left[CONNECTIONS], got[CONNECTIONS], reserved[CONNECTIONS];
bit isUnderWay[CONNECTIONS], hasMemory[CONNECTIONS], waits[CONNECTIONS], mutex[CONNECTIONS];
bit portMutex;
byte exempt = NONE, total;
byte list[CONNECTIONS], listed;

inline lock(m) { atomic { !m -> m = 1 } }

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

inline reserve(c) {
    lock(portMutex);
    lock(mutex[c]);
    if
    :: hasMemory[c] || waits[c] || !isUnderWay[c] -> mutex[c] = 0
    :: else ->
        reserved[c] = PIECES(c);
        mutex[c] = 0;
        atomic { reserve_for(c, isThere) };
#ifdef MUTANT_IS_ADDED_LATER
        portMutex = 0;
        lock(portMutex);
#endif
        atomic { if :: !isThere -> list[listed] = c; listed++; waits[c] = 1 :: else fi }
    fi;
    portMutex = 0
}

inline release(c) {
    lock(portMutex);
    atomic {
        if
        :: hasMemory[c] && exempt == c -> exempt = NONE
        :: hasMemory[c] && exempt != c -> total = total - reserved[c]
        :: else
        fi;
#ifdef MUTANT_STAYS_EXEMPT
        if :: exempt == NONE && hasMemory[c] -> exempt = c :: else fi;
#endif
        reserved[c] = 0;
        hasMemory[c] = 0
    };
    portMutex = 0;
#ifndef MUTANT_RELEASES_SILENTLY
    do
    :: lock(portMutex);
        atomic {
            if :: listed > 0 -> first = list[0]; reserve_for(first, isThere) :: else -> isThere = 0 fi;
            if
            :: isThere ->
                listed--;
                i = 0;
                do :: i < listed -> list[i] = list[i + 1]; i++ :: else -> break od;
                i = 0
            :: else
            fi;
            first = 0
        };
        portMutex = 0;
        if :: !isThere -> break :: else fi
    od
#endif
}

#define UNREAD(c) (left[c] > 0 && !waits[c])

active [2] proctype Loop() {
    byte c, first, i;
    bit isThere, needs, ended;

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
        :: left[c] == 0
        :: left[c] > 0 && !isUnderWay[c] -> isUnderWay[c] = 1
        :: left[c] > 0 && isUnderWay[c] && !hasMemory[c] -> needs = 1
        :: left[c] > 0 && isUnderWay[c] && hasMemory[c] ->
            got[c]++;
            if :: got[c] == PIECES(c) -> got[c] = 0; isUnderWay[c] = 0; left[c]-- :: else fi
        fi;
        ended = hasMemory[c] && !isUnderWay[c];
        assert(total <= LIMIT)
    };
    mutex[c] = 0;
    if :: ended -> release(c) :: else fi;
    if :: needs -> reserve(c) :: else fi;
    atomic { c = 0; isThere = 0; needs = 0; ended = 0; goto end }
}

init { atomic { left[0] = PAYLOADS; left[1] = PAYLOADS; left[2] = PAYLOADS; left[3] = OF_THE_LAST } }

active proctype Quiescence() {
    timeout;
    assert(left[0] == 0 && left[1] == 0 && left[2] == 0 && left[3] == 0);
    assert(total == 0 && exempt == NONE && listed == 0)
}
