/*
 * loop.h -- what a backend (backends/<library>.c) provides and what it may use.
 *
 *     #include "../loop.h"
 *     ... the definitions listed below ...
 *     #include "../scenarios.h"            // the scenarios and main()
 *
 * A program is one translation unit with everything static, so that nothing of the harness stands
 * between a library's callback and the measured work.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include "support.h"

enum {                                  /* scenarios a variant takes part in               */
    PASS          = 1 << 0,
    SIGNAL        = 1 << 1,             /* needs #define HAS_SOURCES                       */
    POST          = 1 << 2,
    WAKE          = 1 << 3,
    WAKE_SPINNING = 1 << 4,
    CALL          = 1 << 5,             /* needs #define HAS_CALL                          */
    TIMERS        = 1 << 6,
    LATENESS      = 1 << 7,
    DESCRIPTORS   = 1 << 8,
    STARTUP       = 1 << 9,
    ASK           = 1 << 10,            /* needs #define HAS_ASK                           */
    DELIVER       = 1 << 11,            /* needs #define HAS_DELIVER                       */
    ECHO_SERVER   = 1 << 12,            /* needs #define HAS_ECHO                          */
    ORDINARY      = PASS | POST | WAKE | TIMERS | LATENESS | DESCRIPTORS | STARTUP,
};

struct variant {
    const char *name;                   /* "uv", "cf-queue": the library is before the '-'  */
    unsigned    takes;
    bool        own_thread;             /* run on a thread other than the main one          */
    bool        not_a_thread;           /* its loops are not threads: cannot be pinned      */
    size_t      most_timers;            /* 0: no limit. More would take hours               */
};

enum schedule {                         /* of a repeating timer, as the library promises it  */
    ON_GRID,                            /* first + k periods; calls may be merged            */
    DUE_OR_NOW,                         /* due + period, but now if that is past (libev)     */
    RESTARTED_WHEN_LATE,                /* due + period, but now + period if past (libevent) */
    AFTER_CALL,                         /* a period after the call (GLib)                    */
};

struct loop;
typedef void (*task_function)(void *argument);
struct task { task_function function; void *argument; };

/* ---- a backend defines -----------------------------------------------------------------------
 *
 * static const struct variant variants[];   ended by {0}; `chosen` is the index of the one to run
 * struct loop { ... };                      two exist: first_loop(), and in "wake" another
 *
 * static void loop_init(struct loop *);     on the thread that will run it
 * static void loop_run(struct loop *);      until loop_stop
 * static void loop_stop(struct loop *);     called by a callback on the loop's thread
 *
 * static void wake_init(struct loop *);     one wake-up that calls (*on_wake)(loop)
 * static void wake_send(struct loop *);     any thread
 * static void post_init(struct loop *);     any thread may hand over function(argument); libraries
 * static void post_send(struct loop *, task_function, void *);  without that: post_by_wake
 * static void again_start(struct loop *);   call on_again() once per pass until it says false
 *
 * static void timers_init(struct loop *, size_t n);  before each batch of n; allocates the first
 *                                           time, reads the clock (measured)
 * static void timer_add(struct loop *, size_t i, uint64_t delay_ns);    one-shot: on_timer(i)
 * static void timer_rearm(struct loop *, size_t i, uint64_t delay_ns);  of a pending one
 * static void timer_cancel(struct loop *, size_t i);                    ... and free it
 * static void timers_settle(struct loop *); finish what the library defers (measured)
 * static void timer_once(struct loop *, size_t i, uint64_t delay_ns);   the cheapest one-shot
 * static uint64_t ticker_start(struct loop *, uint64_t period_ns, enum schedule *);
 *                                           calls on_tick(); returns the first deadline
 *
 * static void descriptors_init(struct loop *, size_t n);
 * static void descriptor_add(struct loop *, size_t i, int fd);          readable: on_readable(i)
 *
 * HAS_SOURCES: static void sources_init(struct loop *, size_t n);
 *              static void source_signal(struct loop *, size_t i);      calls on_signalled(i)
 * HAS_CALL:    static void call_and_wait(struct loop *, task_function, void *);  other thread
 * HAS_ASK:     static void ask_prepare(size_t size);       before the server's process is made
 *              static void ask_serve(size_t size);         in it: answers each request with itself
 *              static size_t ask_once(size_t size);        the bytes of the reply
 * HAS_DELIVER: static void deliver_init(struct loop *);
 *              static void deliver_one(struct loop *);     other thread; calls on_delivery()
 * HAS_ECHO:    static void echo_serve(struct loop *, const int *fds, size_t n);   runs the
 *              loop: echoes the data of each until its end, then closes it and calls on_echo_end()
 * WAKE_SPINNING: static void loop_spin(struct loop *);   wait actively, two CPUs are free for it
 */

/* ---- a backend may use ------------------------------------------------------------------------ */

static int chosen;                              /* index into variants[]                     */
static void (*on_wake)(struct loop *loop);
static bool on_again(void);
static void on_timer(size_t i);
static void on_tick(void);
static MAYBE_UNUSED void on_delivery(void);
static MAYBE_UNUSED void on_echo_end(void);
static void on_readable(size_t i);              /* reads one message itself ...              */
static void on_message(size_t i);               /* ... or the library has read it already    */
static size_t message_size = 1;                 /* bytes per message in "chain"              */

static struct loop *first_loop(void);
static bool scenario_is(const char *name);
static inline void post_by_wake(struct loop *loop, task_function function, void *argument);

#endif
