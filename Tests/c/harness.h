/* What every test in this folder shares. A test file defines suite_under_test(); harness.c has main(). Every test
 * runs in a process of its own with a time limit (Check's fork mode), and fails on a diagnostic it did not ask for. */
#ifndef RUNLOOP_TESTS_C_HARNESS_H
#define RUNLOOP_TESTS_C_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <RunLoop/RunLoop.h>
#include <check.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_THREAD_SANITIZER 1
#endif
#endif
#ifndef WITH_THREAD_SANITIZER
#define WITH_THREAD_SANITIZER 0
#endif
/* A count for stress tests: a quarter of it where a sanitizer makes every step dear. */
#define SCALED(count) (SANITIZED ? ((count) + 3) / 4 : (count))
#define UNUSED __attribute__((unused))

/* ck_assert without its price: that one writes a record to a file each time it succeeds, which is no good in hot
 * loops and in threads. */
#define require(condition)                  \
    do {                                    \
        if (!(condition))                   \
            ck_abort_msg("%s", #condition); \
    } while (0)

/* Children of a test have its record open, and may be killed while they write there: what they find goes to stderr and into their exit
 * status, by these two, which all of Check's assertions end in. */
bool is_child(void);
_Noreturn void fail_as_child(const char *file, int line, const char *expression, const char *format, ...);
#define _mark_point(file, line) (is_child() ? (void)0 : _mark_point(file, line))
#define _ck_assert_failed(...) (is_child() ? fail_as_child(__VA_ARGS__) : _ck_assert_failed(__VA_ARGS__))

/* -- The suite ---------------------------------------------------------------------------------------------------- */
Suite *suite_under_test(void);
/* A test case whose tests each get `seconds` (more under a sanitizer): the only upper bound on time in this folder. */
TCase *add_case(Suite *suite, const char *name, double seconds);

/* -- Diagnostics -------------------------------------------------------------------------------------------------- */
/* Exactly one diagnostic arrived since the last look: "runloop: FUNCTION: PARAMETER: TEXT". With text NULL any will
 * do. */
#define assert_misuse(function, parameter, text) assert_misuse_at(__FILE__, __LINE__, function, parameter, text)
void assert_misuse_at(const char *file, int line, const char *function, const char *parameter, const char *text);
/* How many diagnostics arrived since the last look; forgets them. */
int take_diagnostics(void);

/* -- Notes: what callbacks of one thread did, in order ------------------------------------------------------------- */
void note(const char *word);
#define assert_notes(expected)             \
    do {                                   \
        ck_assert_str_eq(notes, expected); \
        notes[0] = 0;                      \
    } while (0)
extern char notes[4096];
/* Adds an observer that notes En BT BS BW AW Ex; the caller owns it. */
RLRunLoopObserverRef note_activities(RLRunLoopRef rl, RLRunLoopMode mode);

/* -- Making items with one line ------------------------------------------------------------------------------------ */
RLRunLoopSourceRef make_source(RLIndex order, void (*perform)(void *info), void *info);
RLRunLoopSourceRef make_port_source(RLIndex order, int (*get_port)(void *info), void (*perform)(void *info),
                                    void *info);
RLRunLoopTimerRef make_timer(RLAbsoluteTime date, RLTimeInterval interval, RLRunLoopTimerCallBack callout, void *info);
RLRunLoopObserverRef make_observer(RLOptionFlags activities, RLBoolean repeats, RLIndex order,
                                   RLRunLoopObserverCallBack callout, void *info);
void drop_source(RLRunLoopSourceRef source); /* invalidate and release */
void drop_timer(RLRunLoopTimerRef timer);
void drop_observer(RLRunLoopObserverRef observer);
/* Callbacks that count into an atomic_int (info), or do nothing. */
void count_perform(void *info);
void count_timer(RLRunLoopTimerRef timer, void *info);
void count_activity(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info);
void do_nothing(void *info);
/* Stops the loop it runs on. */
void stop_current(void *info);

/* A watched descriptor: a version-1 source that counts its performs, notes its name (if any) and reads a byte (if
 * told to). */
struct watch {
    int fd;
    RLRunLoopSourceRef source;
    const char *name;
    bool reads;
    atomic_int performed;
};
int watch_port(void *info);
void watch_perform(void *info);
/* Makes the source and adds it to the default mode of this thread's loop. */
void watch_fd(struct watch *watch, int fd, RLIndex order);
void make_pipe(int ends[2]); /* close-on-exec, does not block */
void close_pipe(int ends[2]);

/* How often a context's retain and release were called; its info is the struct itself. */
struct lifetime {
    atomic_int retains, releases;
};
const void *lifetime_retain(const void *info);
void lifetime_release(const void *info);
void lifetime_end(void *info); /* the same as a function of performs */
/* Retains that were not released yet. A callback may be bracketed by a pair of its own: count what is left, not the
 * calls. */
int lifetime_held(struct lifetime *life);

/* -- Threads ------------------------------------------------------------------------------------------------------- */
typedef sem_t gate; /* opened once per pass */
void gate_init(gate *g);
void gate_open(gate *g);
void gate_pass(gate *g);
pthread_t start_thread(void *(*body)(void *), void *info);
void join_thread(pthread_t thread);
/* Runs body on that many threads (at most 16), info is 0, 1, …; returns when all have ended. */
void on_threads(int count, void *(*body)(void *));

/* A thread that runs its loop in the default mode until looper_stop. */
struct looper {
    RLRunLoopRef loop;
    pthread_t thread;
    gate ready;
    RLRunLoopSourceRef keeper; /* keeps the mode from being empty; never signalled */
};
void looper_start(struct looper *looper);
void looper_stop(struct looper *looper);
/* Returns once the loop says that it is asleep (or about to be). */
void await_waiting(RLRunLoopRef rl);
/* Returns once the count is at least that much; the test's time limit ends it otherwise. */
void await_count(atomic_int *count, int wanted);

/* -- The process --------------------------------------------------------------------------------------------------- */
/* How many files are in a directory. */
int count_entries(const char *path);
int open_descriptors(void);
int live_threads(void);
/* Returns once there are that many threads: one that was joined may still be on its way out. */
void await_threads(int wanted);
long resident_kilobytes(void);
double monotonic_seconds(void);
/* Keeps the processor busy until the date: a slow callback. */
void spin_until(RLAbsoluteTime date);
/* Runs body in a child of this process and returns its exit status, or 128 + the signal that ended it. */
int run_in_child(void (*body)(void *), void *info);
/* Forks and returns the child; fails if there is none, so that no test kills process -1. */
pid_t fork_child(void);
/* A name for `require` in what only children run. */
#define child_assert(condition) require(condition)

#endif
