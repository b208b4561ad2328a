/* Connections of one peer whose large payloads share memory: none waits while there is memory for it. Code: Sources/RunLoopCore/MessagePort/
 * IncomingBody.swift (`makeRoom`, `reserve`, `release`), Connection+Limits.swift (`setWaitsForMemory`, `resumeWaiting`), Connection+Receive.swift
 * (`receive`).
 *
 * model step                code step                                                                                     guarded by
 * ------------------------  --------------------------------------------------------------------------------------------  --------------------------
 * make_room: total          Peer.reserved.wrappingAdd(): within the limit, or taken back                                  (atomic); connection
 * make_room: exempt         Peer.isExemptionTaken.exchange(true); then what was reserved is released                      (atomic); connection
 * receive: waits?           has(.waitsForMemory), then makeRoom()                                                         connection
 * receive: got++            the piece is received; the last one ends the payload (`finish`)                               connection
 * receive: released         takeReleased(), then resumeWaiting()                                                          connection, then nothing
 * wait: append, waits = 1   setWaitsForMemory(true): waiting.append(), set(.waitsForMemory); then resumeWaiting()              port, then nothing
 * resume: next              waiting[index]                                                                                port
 * resume: make_room         makeRoom() on behalf of that connection                                                       connection
 * resume: remove            setWaitsForMemory(false)                                                                      port
 *
 * The argument. Whoever releases memory looks at the list afterwards, under the port's mutex. Either it finds a connection that waits, or the
 * connection is appended later, and is tried by the thread that has appended it. That thread may have found too little memory long ago: another one may
 * have received pieces since then, so that a connection of the list may have memory, even the exemption. So all connections of the list are tried,
 * not only the first one, which may wait for one behind it. If one is removed meanwhile, another thread has removed it that also tries those
 * that follow it.
 *
 * A payload has two pieces; each needs one unit of memory more. All pieces are in the sockets. Two threads serve all connections, each with one
 * step after another in any order. Property. When no step is possible, all payloads have been received.
 */
#define CONNECTIONS 3
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef PAYLOADS
#define PAYLOADS 1
#endif
#define PIECES 2

byte left[CONNECTIONS], got[CONNECTIONS], held[CONNECTIONS];
bit isExempt[CONNECTIONS], waits[CONNECTIONS], mutex[CONNECTIONS], hasReleased[CONNECTIONS];
bit exemptionTaken, portMutex;
byte total;
byte list[CONNECTIONS], listed;

inline lock(m) { atomic { !m -> m = 1 } }

/* Under the connection's mutex. */
inline make_room(c, isThere) {
    atomic {
        isThere = 1;
        if
        :: left[c] == 0 || isExempt[c] || held[c] > got[c]
        :: else ->
            if
            :: total + 1 <= LIMIT -> total++; held[c]++
            :: else ->
                if
                :: !exemptionTaken -> exemptionTaken = 1
                :: exemptionTaken -> isThere = 0
                fi
            fi
        fi
    };
    /* The exemption was taken first; then what was reserved is released. */
    if
    :: isThere && left[c] > 0 && !isExempt[c] && held[c] <= got[c] ->
        atomic {
            isExempt[c] = 1;
            if :: held[c] > 0 -> total = total - held[c]; held[c] = 0; hasReleased[c] = 1 :: else fi
        }
    :: else
    fi
}

inline resume() {
    do
    :: lock(portMutex);
        if
        :: index >= listed -> portMutex = 0; break
        :: else -> next = list[index]; portMutex = 0
        fi;
        lock(mutex[next]);
        make_room(next, isThere);
        mutex[next] = 0;
        if
#ifdef MUTANT_TRIES_ONLY_THE_FIRST
        :: !isThere -> break
#else
        :: !isThere -> index++
#endif
        :: isThere ->
            lock(portMutex);
            atomic {
                if
                :: waits[next] ->
                    waits[next] = 0;
                    i = 0;
                    do :: list[i] == next -> break :: else -> i++ od;
                    do :: i + 1 < listed -> list[i] = list[i + 1]; i++ :: else -> break od;
                    listed--;
                    i = 0
                :: else
                fi
            };
            portMutex = 0
        fi
    od;
    atomic { next = 0; index = 0 }
}

inline wait(c) {
    lock(portMutex);
    atomic {
        if
        :: !waits[c] -> list[listed] = c; listed++; waits[c] = 1
        :: else
        fi
    };
    portMutex = 0;
#ifndef MUTANT_DOES_NOT_LOOK_ITSELF
    resume()
#endif
}

#define UNREAD(c) (left[c] > 0 && !waits[c])

active [2] proctype Loop() {
    byte c, next, index, i;
    bit isThere, released;

end:
    do
    :: atomic { UNREAD(0) -> c = 0 } goto receive
    :: atomic { UNREAD(1) -> c = 1 } goto receive
    :: atomic { UNREAD(2) -> c = 2 } goto receive
    od;
receive:
    lock(mutex[c]);
    if
    :: waits[c] || left[c] == 0 -> isThere = 0
    :: else -> make_room(c, isThere)
    fi;
    atomic {
        if
        :: isThere ->
            got[c]++;
            if
            :: got[c] == PIECES ->
                total = total - held[c];
                if :: isExempt[c] -> exemptionTaken = 0 :: else fi;
                held[c] = 0;
                isExempt[c] = 0;
                hasReleased[c] = 1;
                got[c] = 0;
                left[c]--
            :: else
            fi
        :: else
        fi;
        released = hasReleased[c];
        hasReleased[c] = 0
    };
    mutex[c] = 0;
#ifndef MUTANT_RELEASES_SILENTLY
    if :: released -> resume() :: else fi;
#endif
    if :: !isThere && left[c] > 0 -> wait(c) :: else fi;
    atomic { c = 0; isThere = 0; released = 0; goto end }
}

init { atomic { left[0] = PAYLOADS; left[1] = PAYLOADS; left[2] = PAYLOADS } }

active proctype Quiescence() {
    timeout;
    assert(left[0] == 0 && left[1] == 0 && left[2] == 0)
}
