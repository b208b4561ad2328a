/* Small one-way messages in memory shared by a client and a server, in addition to the socket between them: all arrive, in order, and none waits for
 * a sleeping server. Code: Sources/RunLoopCore/MessagePort/Ring.swift (the words), Connection+Ring.swift (`putIntoRing`, `takeFromRing`),
 * Connection+Send.swift (`sendLocked`), Connection+Receive.swift (`receive`).
 *
 * A request sent in pieces counts as its packets together: the client puts no entry into the ring before it has sent the last one, and the server
 * takes no entry in between. Both ends have the ring from the start, because the client's packet that announces it precedes its first doorbell.
 *
 * model step                           code step                                                  order    pairs with
 * -----------------------------------  ---------------------------------------------------------  -------  ---------------------------------------------------
 * put: needsDoorbell -> ring_doorbell  sendDoorbell(), if a request was sent by the socket after  kernel   the server's take of packets: they arrive in order
 *                                      the last one
 * put: entry = …                       memcpy into the ring                                       plain    published by tail, given back by head
 * put: tail++                          tail.store()                                               seq_cst  server: tail.load() (acquire: the entry); and with the
 *                                                                                                          next step: store here, load there, both ways
 * put: wanted -> ring_doorbell         doorbellWanted.load()                                      seq_cst  server: wanted = 1
 * ring_doorbell: wanted = 0            doorbellWanted.store(0)                                    seq_cst  before the packet is sent: a server that takes it has
 *                                                                                                          seen this before it announces that it wants another one
 * ring_doorbell: socket!DOORBELL       sendto                                                     kernel   the server's check
 * send: socket!REQUEST                 sendto, one more request for the entries that follow       kernel   the server's take of packets
 * take: head != tail                   tail.load()                                                seq_cst  put
 * take: before != requests             an entry waits for the requests that were sent before      (own)    send
 * take: head++                         head.store()                                               release  client: head.load() (acquire) before it writes there again
 * receive: is there a packet?          poll                                                       kernel   put: what was written before that packet was sent is seen
 *                                                                                                          from here on (on the way: wanted = 1, seq_cst)
 * receive: wanted = 1                  doorbellWanted.store(1)                                    seq_cst  put: wanted
 * receive: take again                  tail.load()                                                seq_cst  put: tail++
 * receive: wanted = 0                  doorbellWanted.store(0), if there is an entry: the packet  seq_cst  put: wanted
 *                                      that is left in the socket is its doorbell
 * receive: socket?                     recvmsg, of a packet that is known to be there, or         kernel
 *                                      if an entry waits for it
 *
 * The argument. While `wanted` is 0 a doorbell is in the socket, or the client is about to send one: the client clears `wanted` only before it sends
 * a doorbell, and a server takes a doorbell only after it has (a) seen it, (b) set `wanted`, (c) found the ring empty. If the client clears `wanted`
 * after (b), it sends another doorbell than that of (a). Otherwise an entry that (c) does not see is followed by a load that sees `wanted`. The
 * server also takes a doorbell if an entry waits for a request: that request follows this doorbell, and is itself followed by another doorbell. A
 * doorbell that does not fit into a full socket need not be sent: the last packet in the socket is a doorbell, and another one precedes it, so the
 * server, which may be about to take one, checks again (MUTANT_SOCKET_HOLDS_ONE_PACKET).
 *
 * Memory is sequentially consistent, as these accesses are. The two stores that are followed by a load have a store buffer in the mutants that make
 * them plain. A server may stop after any message (its run ends), and checks the ring again only when the socket is readable: this is epoll's part,
 * level-triggered.
 *
 * Configurations: default: a client, and a server with two threads that share the connection, under its mutex. DIES: the client is killed between any
 * two steps; whatever it has published is still delivered. Properties. Messages are delivered in the order in which they were sent (an assertion),
 * and all of them are delivered in the end.
 */
#ifndef MESSAGES
#define MESSAGES 5
#endif
#define ENTRIES 2
#ifdef MUTANT_SOCKET_HOLDS_ONE_PACKET
#define PACKETS 1
#else
#define PACKETS 2
#endif
#define DOORBELL    0
#define REQUEST 1

byte tail, head;
bit wanted = 1;
byte message[ENTRIES], before[ENTRIES];
chan socket = [PACKETS] of { bit, byte };
bit closed;                        /* the client has exited */
bit mutex;                         /* of the server's connection */
byte requests;                     /* the server's, under the mutex */
byte published;                    /* ghost: how many messages have ever been in the ring or in the socket */
byte delivered;                    /* ghost */

#ifdef DIES
#define MAY_DIE :: goto dead
#else
#define MAY_DIE
#endif

/* ---- store buffers of one entry ---- */
#if defined(MUTANT_TAIL_STORED_RELAXED) || defined(MUTANT_WANTED_STORED_RELAXED)
bit tailWaits, wantedWaits;
active proctype StoreBuffers() {
end: do
    :: atomic { tailWaits -> tail++; tailWaits = 0 }
    :: atomic { wantedWaits -> wanted = 1; wantedWaits = 0 }
    od
}
#define TAIL_IS_OUT !tailWaits
#else
#define TAIL_IS_OUT true
#endif

inline publish() {
#ifdef MUTANT_TAIL_STORED_RELAXED
    atomic { TAIL_IS_OUT -> tailWaits = 1 };
    published++
#else
    atomic { tail++; published++ }
#endif
}

inline say_wanted() {
#ifdef MUTANT_WANTED_STORED_RELAXED
    wantedWaits = 1
#else
    wanted = 1
#endif
}

inline say_unwanted() {
#ifdef MUTANT_WANTED_STORED_RELAXED
    !wantedWaits;
#endif
    wanted = 0
}

/* ---- the client, under its mutex ---- */

inline ring_doorbell(wasSent) {
#ifndef MUTANT_WANTED_CLEARED_AFTER_THE_DOORBELL
    wanted = 0;
#endif
    if
    MAY_DIE
    :: true
    fi;
    atomic {
        TAIL_IS_OUT ->                 /* a system call: earlier stores have left the buffer */
        if
        :: len(socket) < PACKETS -> socket!DOORBELL, 0; wasSent = 1; needsDoorbell = 0
        :: len(socket) == PACKETS -> wasSent = 0
        fi
    };
#ifdef MUTANT_WANTED_CLEARED_AFTER_THE_DOORBELL
    wanted = 0
#else
    if :: !wasSent -> wanted = 1 :: else fi
#endif
}

active proctype Client() {
    byte next, sent;               /* the next message, and how many were sent by the socket */
    bit needsDoorbell, wasSent, saw;

    do
    :: next == MESSAGES -> break
    :: next < MESSAGES ->
        if
        MAY_DIE
        :: (TAIL_IS_OUT && tail - head < ENTRIES) -> goto put
        :: true -> goto send
        fi;
put:
#ifndef MUTANT_NO_DOORBELL_BEHIND_A_REQUEST
        if
        :: needsDoorbell ->
            ring_doorbell(wasSent);
            if :: !wasSent -> goto send :: else fi
        :: else
        fi;
#endif
        atomic { TAIL_IS_OUT -> message[tail % ENTRIES] = next; before[tail % ENTRIES] = sent };
#ifdef MUTANT_LOOKS_BEFORE_PUBLISHING
        saw = wanted;
        publish();
#else
        publish();
        if
        MAY_DIE
        :: true
        fi;
        saw = wanted;
#endif
        if
        :: saw -> ring_doorbell(wasSent)
        :: else
        fi;
        goto done;
send:
        atomic { TAIL_IS_OUT && len(socket) < PACKETS -> socket!REQUEST, next; sent++; needsDoorbell = 1; published++ };
done:
        atomic { next++; saw = 0; wasSent = 0 }
    od;
#ifdef DIES
dead:
    closed = 1
#endif
}

/* ---- the server ---- */

inline deliver(m) {
    assert(m == delivered);
    delivered++
}

/* Takes the next entry, if there is one and it does not have to wait. */
inline take(isTaken, isTooEarly) {
    if
    :: head == tail
    :: head != tail ->
#ifndef MUTANT_ENTRIES_DO_NOT_WAIT
        if
        :: before[head % ENTRIES] > requests -> isTooEarly = 1
        :: else ->
            assert(before[head % ENTRIES] == requests);
#endif
            deliver(message[head % ENTRIES]);
            head++;
            isTaken = 1
#ifndef MUTANT_ENTRIES_DO_NOT_WAIT
        fi
#endif
    fi
}

#define READABLE (len(socket) > 0 || closed)

active [2] proctype Server() {
    bit kind, isTaken, isTooEarly;
    byte m;

end:
    (READABLE && !(closed && len(socket) == 0 && head == tail));
serve:
    atomic { !mutex -> mutex = 1 };
    take(isTaken, isTooEarly);
    if
    :: isTaken -> goto called
    :: isTooEarly -> goto packet
    :: else
    fi;
#ifndef MUTANT_TAKES_PACKETS_UNSEEN
    if
    :: !READABLE -> goto out
    :: READABLE
    fi;
#endif
    say_wanted();
#ifndef MUTANT_LOOKS_INTO_THE_RING_ONCE
    take(isTaken, isTooEarly);
    if
    :: isTaken -> say_unwanted(); goto called
    :: else
    fi;
#endif
#ifdef MUTANT_WANTS_NO_DOORBELL_AND_TAKES_IT
    say_unwanted();
#endif
packet:
    isTooEarly = 0;
#ifdef MUTANT_WANTED_STORED_RELAXED
    !wantedWaits;                      /* a system call */
#endif
    if
    :: atomic { len(socket) > 0 -> socket?kind, m }
    :: atomic { len(socket) == 0 -> assert(!closed || head == tail); goto out }
    fi;
    if
    :: kind == REQUEST ->
        requests++;
        deliver(m);
        goto called
    :: kind == DOORBELL
    fi;
out:
    atomic { mutex = 0; kind = 0; m = 0; isTaken = 0; goto end };
called:
    atomic { mutex = 0; kind = 0; m = 0; isTaken = 0; isTooEarly = 0 };
    if
    :: goto serve
    :: goto end                        /* stopped: the loop runs again later */
    fi
}

active proctype Quiescence() {
    timeout;
    assert(delivered == published)
}
