/* Receiving ahead: messages that a thread receives for a port of its own loop, while it waits in a send, are delivered when a loop runs: once, in
 * order, and with nothing left behind. Code: Sources/RunLoopCore/MessagePort/ReceivedAhead.swift, Connection+Receive.swift (receiveRequest),
 * SendQueue.swift (updateInterest), Connection.swift (Conditions).
 *
 * model step   code step                                                                      guarded by
 * -----------  -----------------------------------------------------------------------------  ----------------------
 * receive_one  receive(): ahead.hasRoom(), the next packet of the socket, keepAheadLocked()   the connection's mutex
 * update       updateInterest(): the interest that the conditions call for now                the lock of the source
 * ready        epoll reports the socket: it can be read, or is watched for room, which it has
 * take         takeAhead(): the oldest packet                                                 the connection's mutex
 *
 * The interest is computed under the lock of the source (MUTANT_INTEREST_IS_COMPUTED_BEFORE_THE_LOCK): of two threads that change it, the last one is
 * then right, whichever thread changed hasAhead last.
 *
 * Configurations: default: two threads wait in sends, and a loop runs after both have sent: checks the order. LOOPS: both threads serve the port, and
 * run their loops at any time: each message is delivered once, by one of them.
 */
#ifndef MESSAGES
#define MESSAGES 3
#endif
#define LIMIT 2

chan socket = [MESSAGES] of { byte };
chan ahead = [MESSAGES] of { byte };
bit hasAhead;
bit watchesForRoom;                /* interest of the source in addition to readable */

/* ghosts */
byte delivered;
byte times[MESSAGES];
byte hasSent;

inline deliver(m) {
    atomic {
        assert(times[m] == 0);
        times[m]++;
#ifndef LOOPS
        assert(m == delivered);
#endif
        delivered++
    }
}

inline update(v) {
#ifdef MUTANT_INTEREST_IS_COMPUTED_BEFORE_THE_LOCK
    v = hasAhead;
    watchesForRoom = v;
    v = 0
#else
    atomic { watchesForRoom = hasAhead }
#endif
}

/* Receives one packet. `more` becomes 0 if there is none, or no room. */
inline receive_one(m, more) {
#ifdef MUTANT_KEEPS_BEHIND_THE_MUTEX
    atomic { more = (len(ahead) < LIMIT && nempty(socket)); if :: more -> socket?m :: else fi };
    atomic { if :: more -> ahead!m; hasAhead = 1 :: else fi; m = 0 }
#else
    atomic {
        more = (len(ahead) < LIMIT && nempty(socket));
        if :: more -> socket?m; ahead!m; hasAhead = 1; m = 0 :: else fi
    }
#endif
}

inline receive_ahead(m, more, v) {
    more = 1;
    do
    :: more -> receive_one(m, more)
    :: !more -> break
    od;
#ifndef MUTANT_WATCHES_THE_SOCKET_ONLY
    if :: hasAhead -> update(v) :: else fi
#endif
}

/* What the loop does when epoll reports the socket. */
inline dispatch(m, more, v) {
    atomic { (nempty(socket) || watchesForRoom || delivered == MESSAGES); more = 0 };
#ifdef MUTANT_SOCKET_FIRST
    if :: atomic { nempty(socket) -> socket?m; more = 1 } :: atomic { empty(socket) -> skip } fi;
#endif
    if
    :: !more && hasAhead ->
#ifdef MUTANT_CLEARS_BEHIND_THE_MUTEX
        atomic { if :: nempty(ahead) -> ahead?m; more = 1 :: empty(ahead) fi; v = empty(ahead) };
        if :: v -> hasAhead = 0 :: else fi;
        v = 0;
#else
        atomic {
            if :: nempty(ahead) -> ahead?m; more = 1 :: empty(ahead) fi;
            if :: empty(ahead) -> hasAhead = 0 :: nempty(ahead) fi
        };
#endif
        if :: !hasAhead -> update(v) :: else fi
    :: !more && !hasAhead ->
        atomic { if :: nempty(socket) -> socket?m; more = 1 :: empty(socket) fi };
        /* handleEvents() begins with flush(), which updates the interest. */
        if :: !more -> update(v) :: else fi
    :: else
    fi;
    if :: more -> deliver(m) :: else fi;
    atomic { m = 0; more = 0 }
}

active proctype client() {
    byte m;
    do
    :: m < MESSAGES -> socket!m; m++
    :: m == MESSAGES -> break
    od
}

active [2] proctype server() {
    byte m;
    bit more, v;
    receive_ahead(m, more, v);
    receive_ahead(m, more, v);
    hasSent++;
#ifndef LOOPS
    hasSent == 2;
    if :: _pid != 1 -> goto done :: else fi;
#endif
    do
    :: delivered < MESSAGES -> dispatch(m, more, v)
    :: delivered == MESSAGES -> break
    od;
done: skip
}
