/* Senders that wait for room in a queue, and receivers that make room: no sender sleeps on a queue that has been emptied. Code:
 * Sources/RunLoopCore/Port/PortQueue.swift (`putLocked`, `waitForRoom`; `takeNext`, `swapLists`, `wakeAllSenders`).
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * wait: seen = roomFutex         roomFutex.load()                                       seq_cst   wake_all: roomFutex++
 * wait: wakeAt = …               wakeAt.store(), under the senders' lock                seq_cst   look: wakeAt
 * wait: taken                    taken.load(), under the senders' lock                  seq_cst   take: taken + 1
 * wait: park                     futex wait(roomFutex, seen)                            full      wake_all: roomFutex++ (the kernel compares)
 * take: taken + 1                taken.store(), under the receivers' lock               release   wait: taken; until a fence it may stay in the store buffer
 * take: fence                    atomicMemoryFence() after the last of the list         seq_cst   wait: wakeAt = …: one of the two sees the other
 * take: unlock                   receivers.unlock()                                     release   after `taken + 1` in the store buffer
 * look: taken                    taken.load()                                           relaxed   take: taken + 1, its own or, after the unlocking, a later one
 * look: wakeAt                   wakeAt.load()                                          relaxed   wait: wakeAt, which is written before the sender checks
 * wake_all: wakeAt = far ahead   wakeAt.store()                                         seq_cst   wait: wakeAt, which it may overwrite
 * wake_all: roomFutex++          roomFutex.wrappingAdd(1)                               seq_cst   wait: park
 * wake_all: wake                 futex wake(roomFutex, all)                             full
 *
 * The argument. A sender that goes to sleep has not seen the last `taken + 1`. So that store followed the sender's check of `taken`, before which the
 * sender had set `wakeAt`. Because of the fence, the receiver's check of `wakeAt` follows the store. An emptied queue has room for all senders, so it
 * has reached `wakeAt`. `roomFutex` changes after that check, so a sender that has read it before does not fall asleep. Nor does one whose `wakeAt`
 * another receiver overwrites: it read `roomFutex` before it set `wakeAt`, and that receiver changes it afterwards. In the middle of a list there is no
 * fence, so a sender may be overlooked, but the end of the list is near. A receiver that stops in the middle (its run ends) may leave senders asleep
 * although there is some room: they check by themselves after a millisecond, which is not modeled.
 *
 * Both locks are simple locks here; store-mutex.pml checks their protocol. Only `taken` and the unlocking pass through the receiver's store buffer.
 * All other stores are locked instructions or sequentially consistent, so they reach memory immediately.
 *
 * Configurations: default: two senders, a receiver that may stop after any message, and a queue of one (in a larger one all but the last `taken + 1`
 * are in memory, so a sender that checks sees room anyway). CAPACITY=2. RECEIVERS=2. GIVES_UP: senders that time out. Property. When no step is
 * possible, no sender sleeps on an empty queue. If no receiver stops, this means that everything is sent.
 */
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef RECEIVERS
#define RECEIVERS 1
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define SENDERS 2
#define ENOUGH  1                  /* senders want to be woken for this much room */
#define FAR     100

byte sent, incoming, outgoing;
byte taken;                        /* in memory */
byte taking;                       /* the receivers' own copy of it, under their lock */
short wakeAt = FAR;
byte roomFutex;
bit sendersLock, receiversLock;
bit parked[SENDERS];
bit takenWaits[RECEIVERS], unlockWaits[RECEIVERS];

/* ---- the store buffer of a receiver ---- */

inline fence(r) {
    atomic {
        if :: takenWaits[r] -> taken = taking; takenWaits[r] = 0 :: else fi;
        if :: unlockWaits[r] -> receiversLock = 0; unlockWaits[r] = 0 :: else fi
    }
}

active [RECEIVERS] proctype StoreBuffer() {
end:
    do
    :: atomic { takenWaits[_pid] -> taken = taking; takenWaits[_pid] = 0 }
    :: atomic { !takenWaits[_pid] && unlockWaits[_pid] -> receiversLock = 0; unlockWaits[_pid] = 0 }
    od
}

/* ---- senders ---- */

#define lock_senders()   atomic { !sendersLock -> sendersLock = 1 }
#define unlock_senders() sendersLock = 0

inline say_when() { wakeAt = sent - CAPACITY + ENOUGH }

active [SENDERS] proctype Sender() {
    byte me, next, seen;
    bit isFull;

    me = _pid - RECEIVERS;
again:
    if :: next == MESSAGES -> goto done :: else fi;
    lock_senders();
    if
    :: sent - taken < CAPACITY ->
        atomic { sent++; incoming++; next++ };
        unlock_senders();
        goto again
    :: else -> unlock_senders()
    fi;
#ifndef MUTANT_READS_THE_FUTEX_AFTER_LOOKING
    seen = roomFutex;
#endif
    lock_senders();
#ifndef MUTANT_SAYS_WHEN_AFTER_LOOKING
    say_when();
#endif
    isFull = (sent - taken >= CAPACITY);
#ifdef MUTANT_SAYS_WHEN_AFTER_LOOKING
    say_when();
#endif
    unlock_senders();
#ifdef MUTANT_READS_THE_FUTEX_AFTER_LOOKING
    seen = roomFutex;
#endif
    if
    :: isFull ->
#ifdef GIVES_UP
        if :: next++; goto awake :: true fi;
#endif
        atomic { if :: roomFutex == seen -> parked[me] = 1 :: else fi };
endAsleep:
        !parked[me]
    :: else
    fi;
awake:
    goto again;
done:
    skip
}

/* ---- receivers ---- */

inline wake_all(r) {
    fence(r);
#ifndef MUTANT_MOVES_ON_AFTER_CHANGING_THE_FUTEX
    wakeAt = taking + FAR;
#endif
#ifndef MUTANT_WAKES_WITHOUT_CHANGING_THE_FUTEX
    roomFutex++;
#endif
#ifdef MUTANT_MOVES_ON_AFTER_CHANGING_THE_FUTEX
    wakeAt = taking + FAR;
#endif
    atomic { parked[0] = 0; parked[1] = 0 }
}

inline look(r) {
    mine = (takenWaits[r] -> taking : taken);
    if
    :: mine >= wakeAt -> wake_all(r)
    :: else
    fi;
    mine = 0
}

active [RECEIVERS] proctype Receiver() {
    byte me, mine;
    bit found;

    me = _pid - RECEIVERS - SENDERS;
end:
    sent != taken;
take:
    fence(me);
    atomic { !receiversLock -> receiversLock = 1 };
    if
    :: outgoing == 0 ->
        lock_senders();
        atomic { outgoing = incoming; incoming = 0 };
        unlock_senders()
    :: else
    fi;
    found = 0;
    if
    :: outgoing > 0 ->
        found = 1;
#ifdef MUTANT_LOOKS_BEFORE_TAKING
        look(me);
#endif
        atomic { outgoing--; taking++; takenWaits[me] = 1 };
#ifndef MUTANT_NO_FENCE_BEHIND_THE_LAST
        if
        :: outgoing == 0 -> atomic { if :: takenWaits[me] -> taken = taking; takenWaits[me] = 0 :: else fi }
        :: else
        fi
#endif
    :: else
    fi;
    unlockWaits[me] = 1;
#ifndef MUTANT_LOOKS_BEFORE_TAKING
    look(me);
#endif
    if
    :: found -> goto take
    :: found -> goto stopped
    :: !found -> goto end
    fi;
stopped:
    fence(me)
}

active proctype Quiescence() {
    timeout;
    assert(sent != taken || !(parked[0] || parked[1]))
}
