/* What epoll reports of a source that is alone on its descriptor is where the source is and the number of its stay there, which is read without the lock of
 * whoever uses that memory by now: a report reaches the stay that it is about, or nobody.
 * Code: Sources/RunLoopCore/Item/Source.swift (eventTag, init(reported:), endStay, stayOfMemory), Loop/RunLoop+Descriptors.swift (watch, unwatch).
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * join: registered = stay        watch: Epoll.add(…, tag), under the loop's lock        kernel    fetch
 * fetch: batch = registered      epoll_wait                                             kernel    join
 * leave: stay = stay + 2         unwatch: endStay, under the same lock                  plain     the peek of this loop, by its lock; the others' by value
 * leave: registered = 0          epoll_ctl; left out if a duplicate keeps it there      kernel    fetch
 * make: stay = stay | 1          create: the number that is in the memory               plain     the peek: the same number, whatever it reads meanwhile
 * serve: stay == batch           linux_peek, under the loop's lock                      volatile  leave, make
 *
 * The argument. A number that a loop has in its hands was that of a stay in this loop. If the stay is over, its end was under this loop's lock, so
 * the peek sees that or something later; numbers only grow, so it is another one. The peek may race with `make`, which writes the number that
 * is there (memory that was nobody's yet is zero, and no tag is even), and with leaves from the other loop, before and behind which it is another one, too.
 * Half a number is never read: whoever writes one writes an aligned word. Nor an older number than one that this thread knows: one variable has one order.
 * Numbers come back after 2^21 stays; here there are more of them than stays, but in the mutant that has two.
 *
 * One piece of memory that is a source, in one of two loops, is given back, and is a source again. Each loop fetches and serves when it likes; what is
 * registered may outlive the stay.
 *
 * Property. Whoever is served has been registered in this loop, and has not left since.
 */
#ifndef STAYS
#define STAYS 4
#endif
#ifdef MUTANT_TWO_NUMBERS
#define NEXT ((stay + 2) % 4)
#else
#define NEXT (stay + 2)
#endif

byte stay;
bit isSource;
bit locked[2];
byte registered[2];                /* in the epoll of a loop: a tag, 0 for none */
bit isIn[2];                       /* ghost: the source is in the loop */
byte since[2];                     /* ghost: the stay in which it is, counted without end */
byte stays;                        /* ghost */

inline lock(l) { atomic { !locked[l] -> locked[l] = 1 } }
inline unlock(l) { locked[l] = 0 }

/* Who has the source, and moves it about. */
active proctype User() {
    bit l;
    do
    :: stays == STAYS -> break
    :: else ->
        if
        :: !isSource ->
#ifdef MUTANT_BEGINS_ANEW
            stay = 1;
#else
            stay = stay | 1;
#endif
            isSource = 1
        :: else
        fi;
        if :: l = 0 :: l = 1 fi;
        lock(l);
        atomic { stays++; isIn[l] = 1; since[l] = stays };
        registered[l] = stay;
        unlock(l);
        lock(l);
#if !defined(MUTANT_LEAVES_WITHOUT_END) && !defined(MUTANT_ENDS_BEHIND_THE_LOCK)
        stay = NEXT;
#endif
        if
        :: registered[l] = 0
        :: true                    /* a duplicate of the descriptor is open */
        fi;
        isIn[l] = 0;
        unlock(l);
#ifdef MUTANT_ENDS_BEHIND_THE_LOCK
        stay = NEXT;
#endif
        if
        :: isSource = 0            /* the last reference */
        :: true
        fi;
        l = 0
    od
}

active [2] proctype Loop() {
    byte batch, about;
#define ME (_pid - 1)
end:
    do
    :: atomic { !batch && registered[ME] -> batch = registered[ME]; about = since[ME] }
    :: batch ->
        lock(ME);
        if
        :: atomic { stay == batch -> assert(isIn[ME] && about == since[ME]) }
        :: else
        fi;
        unlock(ME);
        atomic { batch = 0; about = 0 }
    od
}
