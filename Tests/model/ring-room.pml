/* A client that waits for room in the ring that it shares with a server: it does not wait while the ring is empty. Code:
 * Sources/RunLoopCore/MessagePort/Ring.swift (`requestRoom`; `owesRoom`, `cancelRoomRequest`), Connection+Ring.swift (`sendByRing`; `takeFromRing`).
 * The doorbells of the server's end are in ring.pml: here the server notices every entry.
 *
 * model step                  code step                                        order     pairs with
 * --------------------------  -----------------------------------------------  --------  ---------------------------------------------------
 * wait: roomWanted = 1        roomWanted.store(1)                              seq_cst   look: roomWanted
 * wait: tail - head           head.load()                                      seq_cst   take: head, which may still be in the store buffer
 * wait: doorbells > 0         poll of the socket, then recv                    kernel    wake: doorbells + 1
 * take: head + 1              head.store()                                     release   wait: tail - head; until a fence it may stay in the store buffer
 * take: look, with room       roomWanted.load() after each entry               relaxed   wait: roomWanted = 1; without a fence, so it may miss that
 * empty: fence                atomicMemoryFence()                              seq_cst   wait: roomWanted = 1: one of the two sees the other
 * empty: look                 roomWanted.load()                                relaxed   wait: roomWanted = 1
 * wake: roomWanted = 0        roomWanted.store(0)                              seq_cst   before the doorbell, so it cannot undo the next request
 * wake: doorbells + 1         sendto                                           kernel    wait: doorbells > 0
 *
 * The argument. A client that waits has seen too little room after it had set `roomWanted`. So the server's last store of `head` reached memory
 * after that, and the fence with which the server finds the ring empty is later still: what it then loads is 1.
 *
 * One doorbell wakes one thread. Of several threads of a client that wait, the others check by themselves after two milliseconds, which is not
 * modeled; nor is the server that stops before the ring is empty.
 *
 * Property. When no step is possible, the client does not wait, and everything was taken.
 */
#ifndef ENTRIES
#define ENTRIES 2
#endif
#define MESSAGES 5

byte tail, head;                   /* in memory */
byte taken;                        /* the server's own copy of head */
bit roomWanted, waits;
byte doorbells;                    /* in the client's socket */

#define HAS_ROOM (tail - head < ENTRIES)

active proctype StoreBuffer() {
end:
    do
    :: atomic { head != taken -> head = taken }
    od
}

active proctype Client() {
    bit isFull;

again:
    if
    :: tail == MESSAGES -> goto done
    :: tail < MESSAGES && HAS_ROOM -> tail++; goto again
    :: tail < MESSAGES && !HAS_ROOM
    fi;
#ifdef MUTANT_LOOKS_BEFORE_ROOM_IS_WANTED
    isFull = !HAS_ROOM;
    roomWanted = 1;
#else
    roomWanted = 1;
    isFull = !HAS_ROOM;
#endif
    if
    :: isFull ->
        waits = 1;
endWaits:
        atomic { doorbells > 0 -> doorbells--; waits = 0 }
    :: else
    fi;
    isFull = 0;
    goto again;
done:
    skip
}

inline wake() {
#ifndef MUTANT_CLEARS_AFTER_WAKING
    atomic { head = taken; roomWanted = 0 };
#endif
    doorbells++;
#ifdef MUTANT_CLEARS_AFTER_WAKING
    atomic { head = taken; roomWanted = 0 };
#endif
}

active proctype Server() {
end:
    tail != taken;
take:
    taken++;
    if
    :: roomWanted && tail - taken < ENTRIES -> wake()
    :: else
    fi;
    if
    :: tail != taken -> goto take
    :: else
    fi;
#ifndef MUTANT_NO_FENCE
    head = taken;
#endif
#ifndef MUTANT_LOOKS_ONLY_AFTER_ENTRIES
    if
    :: roomWanted -> wake()
    :: else
    fi;
#endif
    goto end
}

active proctype Quiescence() {
    timeout;
    assert(!waits && taken == MESSAGES)
}
