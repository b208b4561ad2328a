/* Shared by all tests in this folder. A test file defines suite_under_test(); harness.c has main(). Every test runs in its own
 * process with a time limit (Check's fork mode), and fails if the library reports a diagnostic that it does not expect. */
#ifndef RUNLOOP_TESTS_C_HARNESS_H
#define RUNLOOP_TESTS_C_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../waiting.h"
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
#include <sys/resource.h>
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
/* A repeat count for stress tests: a quarter of `count` under a sanitizer, which makes every step expensive. */
#define SCALED(count) (SANITIZED ? ((count) + 3) / 4 : (count))
#define UNUSED __attribute__((unused))

/* ck_assert without its cost: ck_assert writes a record to a file each time it succeeds, which is unsuitable for hot loops and
 * for threads. */
#define require(condition)                  \
    do {                                    \
        if (!(condition))                   \
            ck_abort_msg("%s", #condition); \
    } while (0)

/* A test's children inherit the file of Check's records, and may be killed while they write to it. So these two, in which all of
 * Check's assertions end, report a child's failures on stderr and in its exit status instead. */
bool is_child(void);
_Noreturn void fail_as_child(const char *file, int line, const char *expression, const char *format, ...);
#define _mark_point(file, line) (is_child() ? (void)0 : _mark_point(file, line))
#define _ck_assert_failed(...) (is_child() ? fail_as_child(__VA_ARGS__) : _ck_assert_failed(__VA_ARGS__))

/* -- The suite ---------------------------------------------------------------------------------------------------- */
Suite *suite_under_test(void);
/* Adds a test case whose tests have `seconds` each, five times as much under a sanitizer. Prefer this limit to any other upper
 * bound on time. */
TCase *add_case(Suite *suite, const char *name, double seconds);

/* -- Diagnostics -------------------------------------------------------------------------------------------------- */
/* Asserts that exactly one diagnostic was reported since the last check: "runloop: FUNCTION: PARAMETER: TEXT". If `text` is NULL,
 * any text will do. */
#define assert_misuse(function, parameter, text) assert_misuse_at(__FILE__, __LINE__, function, parameter, text)
void assert_misuse_at(const char *file, int line, const char *function, const char *parameter, const char *text);
/* Returns how many diagnostics were reported since the last check, and resets the count. */
int take_diagnostics(void);

/* -- Notes: what callbacks of one thread did, in order ------------------------------------------------------------- */
void note(const char *word);
#define assert_notes(expected)             \
    do {                                   \
        ck_assert_str_eq(notes, expected); \
        notes[0] = 0;                      \
    } while (0)
extern char notes[4096];
/* Adds an observer that notes En BT BS BW AW Ex for the activities. The caller owns it. */
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

/* A watched descriptor: a version-1 source that counts its performs, notes its name if it has one, and reads a byte if `reads` is
 * set. */
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
void make_pipe(int ends[2]); /* close-on-exec, non-blocking */
void close_pipe(int ends[2]);

/* Counts the calls of a context's retain and release callbacks. The context's info is the struct itself. */
struct lifetime {
    atomic_int retains, releases;
};
const void *lifetime_retain(const void *info);
void lifetime_release(const void *info);
void lifetime_end(void *info); /* lifetime_release() as the release function of posted work */
/* Returns how many retains have no release yet. The library may bracket a callback with a pair of its own, so check this rather
 * than the number of calls. */
int lifetime_held(struct lifetime *life);

/* -- Threads ------------------------------------------------------------------------------------------------------- */
typedef sem_t gate; /* each gate_open() lets one gate_pass() return */
void gate_init(gate *g);
void gate_open(gate *g);
void gate_pass(gate *g);
pthread_t start_thread(void *(*body)(void *), void *info);
void join_thread(pthread_t thread);
/* Runs `body` on `count` threads (at most 16) with info 0, 1, …, and returns when all have ended. */
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
/* Returns once the loop reports that it is asleep, or about to be. */
void await_waiting(RLRunLoopRef rl);
/* Returns once the count is at least `wanted`. If it never is, the test's time limit ends the wait. */
void await_count(atomic_int *count, int wanted);

/* -- The process --------------------------------------------------------------------------------------------------- */
/* Counts the entries of a directory, except those whose name begins with a dot. */
int count_entries(const char *path);
int open_descriptors(void);
/* Limits how many descriptors this process may have. Returns the limit so far. */
rlim_t limit_descriptors(rlim_t limit);
int live_threads(void);
/* Returns once the process has `wanted` threads: a thread that was joined may still be exiting. */
void await_threads(int wanted);
long resident_kilobytes(void);
double monotonic_seconds(void);
/* Keeps the processor busy until the date, as a slow callback would. */
void spin_until(RLAbsoluteTime date);
/* Runs body in a child of this process and returns its exit status, or 128 + the signal that ended it. */
int run_in_child(void (*body)(void *), void *info);
/* Forks and returns the child's process ID. Fails if there is no child, so that no test kills process -1. */
pid_t fork_child(void);
/* A name for `require` in code that only children execute. */
#define child_assert(condition) require(condition)

#endif
