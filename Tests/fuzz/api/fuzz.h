/* The API fuzzer: threads with and without run loops do random things to a few shared objects, through the public
 * API only. One process runs one seed. main.c starts many processes and prints the seeds that failed; README.md
 * explains how to analyze a failure. */
#ifndef RUNLOOP_TESTS_FUZZ_API_FUZZ_H
#define RUNLOOP_TESTS_FUZZ_API_FUZZ_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
enum {
    MOST_SLOTS = 24,
    MOST_LOOPS = 5,
    MOST_MUTATORS = 4,
    MOST_THREADS = 16,
    MOST_HELD = 48,
    DEEPEST = 24,
    NOTES = 24
};

/* ---- The configuration of a seed (config.c) ---- */

/* The kind of object in a slot. All except remote ports can be added to a loop, directly or through a source. */
enum kind { SOURCE0, SOURCE1, TIMER, OBSERVER, DESCRIPTOR, SOCKET, PORT, LOCAL, REMOTE, KINDS };
extern const char *const kind_names[KINDS];

/* What a thread can do to a slot, a loop or itself. Each seed uses a random selection: an act that is rare in a
 * mixture of everything is common in a mixture of three. */
enum act {
    CREATE,
    DROP,
    ADD,
    REMOVE,
    MOVE,
    INVALIDATE,
    SIGNAL,
    ENABLE,
    SET_DATE,
    SEND,
    REQUEST,
    PERFORM,
    WAIT_FOR,
    CANCEL_PERFORM,
    NEST,
    STOP,
    WAKE,
    EXIT_THREAD,
    CANCEL_THREAD,
    CANCELLATION_POINT,
    FORK,
    LOOK,
    PAUSE,
    ANSWER,
    RAISE,
    ACTS
};
extern const char *const act_names[ACTS];

struct config {
    uint64_t seed;
    int loops, mutators, slots, steps; /* steps: number of acts of each mutator */
    unsigned weights[ACTS], total;     /* of the acts; 0: not used with this seed */
    unsigned kinds;                    /* a bit for each kind that is created */
    bool lingers;                      /* callbacks last longer, so that other threads can interfere */
    bool lonely;                       /* loops also wait for the end of the only item of a mode */
    bool forker;                       /* a thread that only forks, and never uses the library */
    bool peer;                         /* another process serves and sends requests */
    bool denies_membarrier;            /* a seccomp filter is installed in the middle */
    bool quiet, stacks;                /* options of main.c */
    int theme;                         /* -1: chosen by the seed */
    unsigned without;                  /* switches: see main.c */
    double patience;                   /* seconds until a process counts as hung */
};
extern struct config config;
/* Parts that can be omitted with --without=NAME, if a known defect makes every run fail. */
enum {
    WITHOUT_EXIT = 1,
    WITHOUT_CANCEL = 2,
    WITHOUT_FORK = 4,
    WITHOUT_SECCOMP = 8,
    WITHOUT_LONELY = 16,
    WITHOUT_MOVE = 32
};
void decide(uint64_t seed);

/* ---- Random numbers: every thread has its own, from the seed ---- */
struct dice {
    uint64_t state;
};
struct dice dice_of(uint64_t seed, unsigned who);
uint64_t roll(struct dice *dice);
static inline unsigned below(struct dice *dice, unsigned count) { return (unsigned)((roll(dice) >> 33) % count); }
static inline bool one_in(struct dice *dice, unsigned count) { return below(dice, count) == 0; }

/* ---- Infos (infos.c): the infos of callbacks. They stay in memory until the end of the round, so that a use after
 * release is found, whatever the allocator does. ---- */
enum { ALIVE = 0x11f0a11e, DEAD = 0xdeadbeef };
struct note {
    const char *what;
    int thread, other;
};
struct info {
    _Atomic uint32_t magic;
    enum kind kind;
    int slot;
    unsigned serial;
    atomic_int count;                /* retains minus releases */
    _Atomic uint64_t invalidated_by; /* bits of the threads on which Invalidate has returned */
    atomic_int calls, ended_in;      /* callbacks begun, and threads that exited in one */
    bool repeats, closes;            /* a timer or observer that repeats; an object that closes fd */
    unsigned long types;             /* a socket's callbacks */
    int fd, peer;                    /* the watched descriptor and its other end; -1: none */
    atomic_uint noted;
    struct note notes[NOTES]; /* the last things done with it */
    struct info *next;
};
struct info *make_info(enum kind kind, int slot);
void discard_info(struct info *info); /* for an info that no object has taken */
const void *retain_info(const void *info);
void release_info(const void *info);
void note(struct info *info, const char *what, int other);
void print_info(const struct info *info);
/* Checks, after everything was released, that every info was, too. Frees them. */
void settle_infos(void);

/* The reference count for functions and requests, which have no object: it must also return to 0. */
extern atomic_int open_functions;

struct item {
    enum kind kind;
    RLTypeRef object; /* NULL: the slot is empty */
    struct info *info;
};

/* ---- Threads (round.c) ---- */
struct thread {
    int index;
    bool has_loop, is_mutator, in_fork;
    pthread_t handle;
    struct dice dice;
    _Atomic(const char *) doing; /* for the dump */
    atomic_int with;             /* the slot, or -1 */
    RLTypeRef held[MOST_HELD];   /* references to release if the thread exits in the middle of something */
    int held_count;
    struct info *calls[DEEPEST];         /* callbacks it is in */
    struct question *questions[DEEPEST]; /* the questions that they must answer */
    int cancel_states[DEEPEST];          /* before each of these callbacks */
    int depth, runs;
    int must_return;               /* number of callbacks that must return: the thread does not exit in them */
    int budget;                    /* acts left in callbacks */
    atomic_bool over;              /* the thread is to exit */
    struct item lonely_item;       /* the lonely item, guarded by lock; held by the thread */
    _Atomic(struct info *) lonely; /* the item whose end its run waits for */
    pthread_mutex_t lock;          /* life and handle */
    bool is_alive, is_joined;
    RLRunLoopRef loop; /* guarded by lock; retained */
    int lives;
};
extern struct thread threads[MOST_THREADS];
extern _Thread_local struct thread *self;
static inline uint64_t thread_bit(void) { return self == NULL ? 0 : 1ULL << self->index; }
int loop_count(void);
/* Returns a loop of the round, alive or not, as a new reference held by the thread; NULL if there is none so far. */
RLRunLoopRef hold_loop(int index);
RLRunLoopRef hold_any_loop(void);
void hold(RLTypeRef object);
void release_held(RLTypeRef object);
void run_round(void);
/* Runs the thread's loop. */
RLRunLoopRunResult run_in(RLRunLoopMode mode, double seconds, bool returns);

enum { MODES = 4 };
extern RLRunLoopMode modes[MODES], lonely_mode, check_mode;
extern RLArrayRef all_modes;
RLRunLoopMode any_mode(struct dice *dice); /* one of modes, or the common modes */

/* ---- Slots (slots.c) ---- */
/* Returns the contents of a slot; the thread holds the object until release_held(). */
struct item take(int slot);
int pick_slot(void);
/* Creates an object of a kind that this seed uses, puts it into the slot, and drops the previous object. */
void fill_slot(int slot, enum kind kind);
void clear_slot(int slot, bool invalidates);
enum kind any_kind(struct dice *dice);
RLTypeRef create(enum kind kind, struct info **info);
void invalidate(struct item item);
bool is_valid(struct item item);
/* Returns the run loop source for adding the item to loops, as a new reference held by the thread; NULL for timers,
 * observers, and invalid items. */
RLRunLoopSourceRef hold_source(struct item item);
void add(RLRunLoopRef loop, struct item item, RLRunLoopMode mode);
void remove_from(RLRunLoopRef loop, struct item item, RLRunLoopMode mode);
bool is_in(RLRunLoopRef loop, struct item item, RLRunLoopMode mode);

/* ---- Callbacks (callbacks.c) ---- */
void enter(struct info *info, const char *what);
void leave(struct info *info);
void perform_source(void *info);
void scheduled(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
void cancelled(void *info, RLRunLoopRef rl, RLRunLoopMode mode);
int port_of_source(void *info);
void fire_timer(RLRunLoopTimerRef timer, void *info);
void hear_activity(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info);
void call_descriptor(RLFileDescriptorRef f, RLOptionFlags types, void *info);
void call_socket(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info);
void receive(RLPortRef port, RLPortMessageRef message, void *info);
RLDataRef answer(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info);
/* The contents of this process's requests: the client sees what happened to its server's callback. */
struct question {
    atomic_bool ended; /* the thread exited in the callback, which had not taken over the request */
    atomic_int answered;
    double ended_at;
    int thread;
    struct question *next;
};
enum { QUESTION = 77 };
struct question *make_question(void);
void free_questions(void);
void answer_later(void);
void drop_requests(void);

/* ---- Acts (acts.c, asking.c) ---- */
void act(void);
void act_in_callback(void);
void send_message(struct item item);
void ask(struct item item);
void perform_something(void);
void wait_for_function(void);
void cancel_performs(void);
void fork_and_look(void);
void end_thread(void) __attribute__((noreturn));
void point_of_cancellation(void);
/* A window in which the thread may be cancelled. */
void open_to_cancellation(void);
void closed_to_cancellation(void);

/* ---- The end of a round (final.c) ---- */
extern atomic_bool is_final; /* callbacks only read */
void check_what_is_left(void);

/* ---- Failure and watching (watch.c) ---- */
#define check(condition, ...)            \
    do {                                 \
        if (!(condition))                \
            fail(__LINE__, __VA_ARGS__); \
    } while (0)
_Noreturn void fail(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doing(const char *what, int with);
void start_watching(void);
void stop_watching(void);
double now(void);
void pause_briefly(struct dice *dice);
int open_descriptors(void);
void deny_membarrier(void);
extern char program[4096]; /* path of this program; under Valgrind /proc/self/exe is another one */
int serve_as_peer(const char *directory);
void start_peer(void);
void stop_peer(void);

#endif
