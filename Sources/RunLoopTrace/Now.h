/* What each thread with a run loop does now: written by the thread itself, read by the companion's thread at any moment.

   A state is a row of words, between two changes of a sequence number: the writer waits for no reader, takes no lock and makes no system
   call; a reader copies the words and looks whether the number was even and is the same still. */
#ifndef RUNLOOP_TRACE_NOW_H
#define RUNLOOP_TRACE_NOW_H
#include "Processor.h"
#include <RunLoop/RunLoop.h>
#include <stdint.h>

#define NOW_NAME_WORDS 8 /* 64 bytes */
#define NOW_FRAMES 32
#define NOW_CALLEES 8
#define NOW_REQUESTS 4
#define NOW_NOTHING UINT64_MAX /* no descriptor, no limit */

/* Times are in nanoseconds of CLOCK_MONOTONIC, kinds those of RLRunLoopProbe.h. All fields are words. */

/* A callback that is being called. */
struct NowCall {
    uint64_t kind, object, function, info, since;
    uint64_t descriptor; /* of descriptor objects and sockets, otherwise NOW_NOTHING */
};

/* What was called in this round. */
struct NowCallee {
    uint64_t round; /* that of the state; otherwise it is out of date */
    uint64_t kind, function, info, count;
    uint64_t again; /* how many of these calls have signalled or posted the same once more */
    uint64_t descriptor;
    uint64_t interval; /* of a timer, in nanoseconds; 0 if it does not repeat */
};

/* A request to a message port whose reply has not come yet. */
struct NowRequest {
    uint64_t number, since; /* 0: none */
    uint64_t port[NOW_NAME_WORDS];
};

/* What made a sleep end: another thread, or the first callback afterwards. */
struct NowWaking {
    uint64_t when, thread;   /* 0: no other thread */
    uint64_t kind, function; /* what the other thread had sent just before, or what was called; kind 0: unknown */
};

struct NowState {
    uint64_t changed;              /* when the last event was */
    uint64_t calls;                /* how many callbacks have begun */
    uint64_t depth;                /* how many are being called, one within the other */
    uint64_t asleep;               /* since when; 0: awake */
    uint64_t until;                /* when the sleep ends at the latest, or NOW_NOTHING */
    uint64_t mode[NOW_NAME_WORDS]; /* of the last sleep */
    uint64_t busy;                 /* since when the loop has made many calls for each sleep of a millisecond */
    uint64_t round, callsInRound;  /* the number of that time, and how many callbacks have begun in it */
    uint64_t credit;               /* what is left of these calls when sleeps are subtracted */
    struct NowWaking waking;
    struct NowCall frames[NOW_FRAMES]; /* outermost first; deeper ones have no room */
    struct NowCallee callees[NOW_CALLEES];
    struct NowRequest requests[NOW_REQUESTS];
};

/* What the watch for stalls has seen of a thread. The companion's thread alone. */
struct NowWatch {
    uint64_t changed, calls; /* the call that is meant */
    uint64_t lasted;         /* in nanoseconds, as far as it was seen, without waits for a processor */
    struct ProcessorWaits waits;
    int thread, isReported;
};

/* A thread. Its memory is used again, and never freed. */
struct NowThread {
    struct NowThread *next;
    int thread;        /* 0: unused. Under the lock of Now.c. */
    RLRunLoopRef loop; /* with a reference. Under the lock. */
    uint32_t sequence;
    struct NowState state;
    struct NowWatch watch;
};

/* Begins to keep states. `began`, unless NULL, is called when a thread has one for the first time, on that thread, and at the first event in
   a child of fork(). 0 if that fails. Any thread. */
int nowUse(void (*began)(void));

/* A thread as it was at one moment. */
struct NowSnapshot {
    int thread;
    RLRunLoopRef loop; /* with a reference */
    struct NowThread *live;
    struct NowState state;
};

/* Copies all states, or that of one loop's thread if `only` is not NULL, for the caller to free with nowFree. Returns how many. Any thread. */
int nowCopy(RLRunLoopRef only, struct NowSnapshot **snapshots);
void nowFree(struct NowSnapshot *snapshots, int count);
/* Copies a state anew; 0 if the thread has ended meanwhile. */
int nowRefresh(struct NowSnapshot *snapshot);

#endif
