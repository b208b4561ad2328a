/* What each thread with a run loop is doing now. The thread itself writes its state, and any thread may read it at any
   moment.

   A state is a sequence of words that is changed between two increments of a sequence number. The writer does not wait
   for readers, takes no lock and makes no system call. A reader copies the words and checks that the number was even
   and has not changed. */
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

/* Times are in nanoseconds of CLOCK_MONOTONIC; kinds are those of RLRunLoopProbe.h. All fields are words. */

/* A running callback. */
struct NowCall {
    uint64_t kind, object, function, info, since;
    uint64_t descriptor; /* for descriptor objects and sockets; otherwise NOW_NOTHING */
};

/* A callback that was called in the current round. */
struct NowCallee {
    uint64_t round; /* the state's round; otherwise this entry is out of date */
    uint64_t kind, function, info, count;
    uint64_t again; /* how many of these calls signalled or posted the same callback again */
    uint64_t descriptor;
    uint64_t interval; /* a timer's, in nanoseconds; 0 if the timer does not repeat */
};

/* A request to a message port that has not been replied to yet. */
struct NowRequest {
    uint64_t number, since; /* 0: none */
    uint64_t port[NOW_NAME_WORDS];
};

/* What ended a sleep: another thread, or else the first callback afterwards. */
struct NowWaking {
    uint64_t when, thread;   /* 0: no other thread */
    uint64_t kind, function; /* what the other thread had just sent, or which callback was called; kind 0: unknown */
};

struct NowState {
    uint64_t changed;              /* the time of the last event */
    uint64_t calls;                /* how many callbacks have begun */
    uint64_t depth;                /* how many are running, nested in each other */
    uint64_t asleep;               /* when the sleep began; 0: awake */
    uint64_t until;                /* when the sleep ends at the latest, or NOW_NOTHING */
    uint64_t mode[NOW_NAME_WORDS]; /* the mode of the last sleep */
    uint64_t busy; /* when the current busy period began: many callbacks for each sleep of a millisecond */
    uint64_t round, callsInRound; /* the number of the busy period, and how many callbacks began in it */
    uint64_t credit;              /* callbacks in the busy period, less a number for each sleep */
    struct NowWaking waking;
    struct NowCall frames[NOW_FRAMES]; /* outermost first; deeper ones have no room */
    struct NowCallee callees[NOW_CALLEES];
    struct NowRequest requests[NOW_REQUESTS];
};

/* What the stall watch has seen of a thread. Only the companion's thread uses it. */
struct NowWatch {
    uint64_t changed, calls; /* identify the callback */
    uint64_t lasted;         /* in nanoseconds, as far as observed, without waits for a processor */
    struct ProcessorWaits waits;
    int thread, isReported;
};

/* A thread. The memory is reused, and never freed. */
struct NowThread {
    struct NowThread *next;
    int thread;        /* 0: unused. Under the lock of Now.c. */
    RLRunLoopRef loop; /* retained. Under the lock of Now.c. */
    uint32_t sequence;
    struct NowState state;
    struct NowWatch watch;
};

/* Starts to keep states. `began`, unless NULL, is called on each thread when it first has a state, and at the first
   event in a child of fork(). Returns 0 if that fails. Any thread. */
int nowUse(void (*began)(void));

/* A copy of a thread's state at one moment. */
struct NowSnapshot {
    int thread;
    RLRunLoopRef loop; /* retained */
    struct NowThread *live;
    struct NowState state;
};

/* Copies all states, or that of one loop's thread if `only` is not NULL. The caller frees the copies with nowFree().
   Returns their number. Any thread. */
int nowCopy(RLRunLoopRef only, struct NowSnapshot **snapshots);
void nowFree(struct NowSnapshot *snapshots, int count);
/* Copies a state again. Returns 0 if the thread has exited meanwhile. */
int nowRefresh(struct NowSnapshot *snapshot);

#endif
