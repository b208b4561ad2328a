/* Locking an item whose lock changes: `guard`, in the code the item's owner, says which loop's lock guards it at the moment. (owner-lock.pml shows that
 * those locks work.) Code: Sources/RunLoopCore/Object/ItemHeader.swift, on top of Sources/RunLoopCore/Platform/OwnerLock.swift.
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * use: g = guard                 g = item.owner                                         acquire   move's store: the lock that g points to is initialized
 * use: lock(g)                   g.lock()                                               acquire   unlock
 * use: guard != g                item.owner != g: unlock, try again                     acquire   relaxed would do: guard leaves g only under lock g, so under lock g
 *                                                                                                 this load cannot be stale
 * move: lock both                the lock with the lower address first, then the other  acquire   unlock
 * move: guard != g               as in use                                              acquire   as in use
 * move: guard = target           item.setOwner(target)                                  release   use's first load
 *
 * `item` stands for the fields of the item, `list` for a structure of the loop that contains it (heap, list, bitmap). Under lock L a thread may
 * access list[L] and the items whose guard is L. Moving an item accesses both lists, and so requires both locks (MUTANT_MOVE_UNDER_ONE_LOCK accesses
 * list[target] while others use it). The guard may change and change back between the two loads (A, B, A): this is harmless, because the test is
 * about the present, not the past. A lock that a guard has pointed to must remain a lock permanently, or as long as any thread may be between the
 * load and the lock: this model never frees one.
 *
 * Properties: an item and a list are accessed by one thread at a time; no deadlock. Each mover moves the item to the other loop.
 */
#ifndef MOVES
#define MOVES 1
#endif
#ifndef USES
#define USES 1
#endif

bit locked[2];
bit guard[2];                      /* of two items; item 1 starts in loop 1 (MUTANT_MOVE_LOCKS_CURRENT_FIRST needs two to deadlock) */
byte inItem[2], inList[2];         /* ghosts: number of threads accessing it */
bit started;

inline lock(l) { atomic { !locked[l] -> locked[l] = 1 } }
inline unlock(l) { locked[l] = 0 }

inline touch(l) {
    atomic { inItem[i]++; inList[l]++; assert(inItem[i] == 1 && inList[l] == 1) };
    atomic { inItem[i]--; inList[l]-- }
}

active [2] proctype User() {
    bit g, i;
    byte uses;
    started;
    do
    :: uses == USES -> break
    :: else ->
        if :: i = 0 :: i = 1 fi;
again:
        g = guard[i];
        lock(g);
#ifndef MUTANT_USE_WITHOUT_RECHECK
        if
        :: guard[i] != g -> unlock(g); goto again
        :: else
        fi;
#endif
        touch(g);
        unlock(g);
        atomic { uses++; g = 0; i = 0 }
    od
}

active [2] proctype Mover() {
    bit g, i;
    byte moves;
    started;
    do
    :: moves == MOVES -> break
    :: else ->
        if :: i = 0 :: i = 1 fi;
again:
        g = guard[i];
#if defined(MUTANT_MOVE_LOCKS_CURRENT_FIRST)
        lock(g);
        if
        :: guard[i] != g -> unlock(g); goto again
        :: else
        fi;
        lock(1 - g);
#elif defined(MUTANT_MOVE_UNDER_ONE_LOCK)
        lock(g);
#else
        lock(0);
        lock(1);
#endif
#ifndef MUTANT_MOVE_WITHOUT_RECHECK
        if
#ifdef MUTANT_MOVE_UNDER_ONE_LOCK
        :: guard[i] != g -> unlock(g); goto again
#else
        :: guard[i] != g -> unlock(1); unlock(0); goto again
#endif
        :: else
        fi;
#else
        assert(guard[i] == g);        /* this would remove the item from a list that does not contain it */
#endif
        atomic {
            inItem[i]++; inList[0]++; inList[1]++;
            assert(inItem[i] == 1 && inList[0] == 1 && inList[1] == 1)
        };
        atomic { inItem[i]--; inList[0]--; inList[1]-- };
        guard[i] = 1 - g;
#ifdef MUTANT_MOVE_UNDER_ONE_LOCK
        unlock(g);
#else
        unlock(1);
        unlock(0);
#endif
        atomic { moves++; g = 0; i = 0 }
    od
}

/* The owner of a list, which does not use the item. */
active proctype ListUser() {
    bit l;
    atomic { guard[1] = 1; started = 1 };
    if :: l = 0 :: l = 1 fi;
    lock(l);
    atomic { inList[l]++; assert(inList[l] == 1) };
    inList[l]--;
    unlock(l)
}
