/* An epoll event for a source that is alone on its descriptor carries the source's address and the generation of its registration. The loop reads the
 * current generation without the lock of the thread that uses the memory by then. The event still reaches the registration that it belongs to, or
 * none. Code: Sources/RunLoopCore/Item/Source.swift (eventTag, init(eventTag:), advanceGeneration, inheritedGeneration),
 * Loop/RunLoop+Descriptors.swift (watch, unwatch).
 *
 * model step                     code step                                              order     pairs with
 * -----------------------------  -----------------------------------------------------  --------  ---------------------------------------------------
 * join: registered = generation  watch: Epoll.add(…, tag), under the loop's lock        kernel    fetch
 * fetch: batch = registered      epoll_wait                                             kernel    join
 * leave: generation += 2         unwatch: advanceGeneration, under the same lock        plain     the peek of this loop, by its lock; the others' by value
 * leave: registered = 0          epoll_ctl; left out if a duplicate keeps it there      kernel    fetch
 * make: generation |= 1          create: the number that is in the memory               plain     the peek: the same number, whatever it reads meanwhile
 * serve: generation == batch     linux_peek, under the loop's lock                      volatile  leave, make
 *
 * The argument. A number fetched by a loop was the generation of a registration in this loop. If that registration has ended, it ended under this
 * loop's lock, so the peek reads its end or something later. Numbers only grow, so it reads a different number. The peek may race with `make`, which
 * writes the number that is already there (fresh memory is zero, and no tag is even), and with leaves from the other loop, before and after which the
 * number is different, too. A number is never read in parts, because all writers write an aligned word. An older number than one this thread knows is
 * never read, because one variable has one order. Numbers repeat after 2^21 registrations; the model has more numbers than registrations, except in
 * the mutant that has two.
 *
 * One piece of memory that is a source, in one of two loops, is freed, and becomes a source again. Each loop fetches and serves at any time. What is
 * registered in epoll may outlive the registration.
 *
 * Property. A source that is served has been registered in this loop, and has not left it since.
 */
#ifndef GENERATIONS
#define GENERATIONS 4
#endif
#ifdef MUTANT_TWO_NUMBERS
#define NEXT ((generation + 2) % 4)
#else
#define NEXT (generation + 2)
#endif

byte generation;
bit isSource;
bit locked[2];
byte registered[2];                /* in the epoll set of a loop: a tag, or 0 for none */
bit isIn[2];                       /* ghost: the source is in the loop */
byte since[2];                     /* ghost: the current registration, counted without wrapping */
byte generations;                  /* ghost: registrations so far */

inline lock(l) { atomic { !locked[l] -> locked[l] = 1 } }
inline unlock(l) { locked[l] = 0 }

/* The thread that owns the source, and moves it between loops. */
active proctype User() {
    bit l;
    do
    :: generations == GENERATIONS -> break
    :: else ->
        if
        :: !isSource ->
#ifdef MUTANT_BEGINS_ANEW
            generation = 1;
#else
            generation = generation | 1;
#endif
            isSource = 1
        :: else
        fi;
        if :: l = 0 :: l = 1 fi;
        lock(l);
        atomic { generations++; isIn[l] = 1; since[l] = generations };
        registered[l] = generation;
        unlock(l);
        lock(l);
#if !defined(MUTANT_LEAVES_WITHOUT_END) && !defined(MUTANT_ENDS_BEHIND_THE_LOCK)
        generation = NEXT;
#endif
        if
        :: registered[l] = 0
        :: true                    /* a duplicate of the descriptor is open */
        fi;
        isIn[l] = 0;
        unlock(l);
#ifdef MUTANT_ENDS_BEHIND_THE_LOCK
        generation = NEXT;
#endif
        if
        :: isSource = 0            /* releases the last reference */
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
        :: atomic { generation == batch -> assert(isIn[ME] && about == since[ME]) }
        :: else
        fi;
        unlock(ME);
        atomic { batch = 0; about = 0 }
    od
}
