/* What a real-time thread may call, under RealtimeSanitizer, which reports every malloc, lock and system call made
 * below a function that is marked nonblocking, here or in the library.
 *
 *     realtime SOURCES STATE    sources: one, hundred, two-loops
 *                               state: stopped, running, callback, asleep, asleep-descriptor
 *     realtime control NAME     deliberately does what must be reported
 *
 * Waking a sleeping loop takes one system call. That is intended, and the only report allowed. It is not suppressed
 * but counted: the program prints "system calls N", and the test expects exactly N reports. */
#define _GNU_SOURCE
#include "../waiting.h"
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REALTIME [[clang::nonblocking]]
#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
enum { most = 100, rounds = 20 };

static _Noreturn void fail(int line, const char *what)
{
    fprintf(stderr, "realtime.c:%d: not true: %s\n", line, what);
    _exit(1);
}

static RLRunLoopRef loop, other_loop;
static RLRunLoopSourceRef sources[most];
static int source_count;
static atomic_long performed;
static atomic_bool hold, held;

static void count(void *info)
{
    (void)info;
    atomic_fetch_add(&performed, 1);
}

/* ---- what is under test ---- */

static void signal_all(void) REALTIME
{
    for (int i = 0; i < source_count; i++) {
        RLRunLoopSourceSignal(sources[i]);
        RLRunLoopSourceSignal(sources[i]);
        RLRunLoopSourceIsSignalled(sources[i]);
    }
}

static bool all_signalled(void) REALTIME
{
    for (int i = 0; i < source_count; i++) {
        if (!RLRunLoopSourceIsSignalled(sources[i]))
            return false;
    }
    return true;
}

static bool is_waiting(void) REALTIME { return RLRunLoopIsWaiting(loop); }
static void wake_up(void) REALTIME { RLRunLoopWakeUp(loop); }
static void stop(void) REALTIME { RLRunLoopStop(loop); }

/* The calls must not change errno. */
static void use_everything(void)
{
    errno = E2BIG;
    signal_all();
    CHECK(all_signalled());
    wake_up();
    wake_up();
    CHECK(!is_waiting());
    stop();
    CHECK(errno == E2BIG);
}

/* ---- the loop ---- */

static RLRunLoopSourceRef new_source(int order, void (*perform)(void *), void *info)
{
    RLRunLoopSourceContext context = {.info = info, .perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, order, &context);
    CHECK(source != NULL);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    return source;
}

static void add_sources(const char *which)
{
    static int infos[most];
    source_count = strcmp(which, "hundred") == 0 ? most : 1;
    for (int i = 0; i < source_count; i++)
        sources[i] = new_source(i, count, &infos[i]);
    if (strcmp(which, "two-loops") == 0) {
        RLRunLoopAddSource(other_loop, sources[0], kRLRunLoopDefaultMode);
        CHECK(RLRunLoopContainsSource(other_loop, sources[0], kRLRunLoopDefaultMode));
        /* That woke the loop; while it is awake, it would take the signals that this thread is about to check. */
        until_asleep(other_loop);
    }
}

static int watched;
static int watched_port(void *info) { return *(int *)info; }

static void watch_a_descriptor(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    watched = ends[0];
    RLRunLoopSourceContext1 context = {.version = 1, .info = &watched, .getPort = watched_port, .perform = count};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    RLRelease(source);
    /* Make a pass, so that the loop's next sleep is the one on descriptors. */
    CHECK(RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, count, NULL, 1e10));
}

/* Keeps the loop in a callback until the other thread is done. */
static void stay(void *info)
{
    (void)info;
    atomic_store(&held, true);
    while (atomic_load(&hold))
        ;
    atomic_store(&held, false);
}

static void in_callback(void *info)
{
    (void)info;
    for (int i = 0; i < rounds; i++)
        use_everything();
}

static atomic_bool ready, finished;

static void finish(void *info)
{
    (void)info;
    atomic_store(&finished, true);
    RLRunLoopStop(loop);
}

static void *run(void *which)
{
    loop = RLRunLoopGetCurrent();
    RLRunLoopSetSpinInterval(loop, 0);
    RLRelease(new_source(-1, count, &loop)); /* never signalled: keeps the mode from being empty */
    add_sources(which);
    atomic_store(&ready, true);
    while (!atomic_load(&finished))
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    return NULL;
}

static void until_performed(long wanted)
{
    while (atomic_load(&performed) < wanted)
        usleep(20);
}

/* ---- states ---- */

static void stopped(void)
{
    for (int i = 0; i < rounds; i++)
        use_everything();
    atomic_store(&performed, 0);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0) == kRLRunLoopRunTimedOut);
    CHECK(atomic_load(&performed) == source_count);
}

static void running(void)
{
    for (int i = 0; i < rounds; i++) {
        long before = atomic_load(&performed);
        atomic_store(&hold, true);
        RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, stay, NULL);
        while (!atomic_load(&held))
            usleep(20);
        use_everything();
        atomic_store(&hold, false);
        until_performed(before + source_count);
    }
}

static void callback(void)
{
    for (int i = 0; i < rounds; i++) {
        long before = atomic_load(&performed);
        CHECK(RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, in_callback, NULL, 1e10));
        until_performed(before + source_count);
    }
}

/* One system call each for WakeUp and Stop. */
static int asleep(void)
{
    for (int i = 0; i < rounds; i++) {
        long before = atomic_load(&performed);
        until_asleep(loop);
        errno = E2BIG;
        CHECK(is_waiting());
        signal_all();
        CHECK(all_signalled());
        wake_up();
        CHECK(errno == E2BIG);
        until_performed(before + source_count);
        until_asleep(loop);
        errno = E2BIG;
        stop();
        CHECK(errno == E2BIG);
    }
    return 2 * rounds;
}

/* ---- controls: each must be reported, otherwise this program proves nothing ---- */

static void *volatile kept;
static void control_malloc(void) REALTIME { kept = malloc(100); }
static void control_library_allocates(void) REALTIME { kept = (void *)RLStringMakeConstant("not seen before"); }
static void control_post(void) REALTIME { RLRunLoopPostFunction(other_loop, kRLRunLoopDefaultMode, count, NULL); }
/* The lock of another thread's loop is taken with membarrier(2). */
static void control_library_locks(void) REALTIME { RLRunLoopGetNextTimerFireDate(other_loop, kRLRunLoopDefaultMode); }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void control_mutex(void) REALTIME
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void control_wake(void) REALTIME { RLRunLoopWakeUp(other_loop); }

static void *run_other(void *unused)
{
    (void)unused;
    other_loop = RLRunLoopGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 1e15, 0, 0, 0, (RLRunLoopTimerCallBack)(void *)count, NULL);
    RLRunLoopAddTimer(other_loop, timer, kRLRunLoopDefaultMode);
    atomic_store(&ready, true);
    RLRunLoopRun();
    return NULL;
}

static void start_other_loop(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_other, NULL) == 0);
    while (!atomic_load(&ready))
        usleep(20);
    until_asleep(other_loop);
    atomic_store(&ready, false);
}

static void control(const char *name)
{
    start_other_loop();
    loop = RLRunLoopGetCurrent();
    if (strcmp(name, "malloc") == 0)
        control_malloc();
    else if (strcmp(name, "mutex") == 0)
        control_mutex();
    else if (strcmp(name, "library-allocates") == 0)
        control_library_allocates();
    else if (strcmp(name, "library-locks") == 0)
        control_library_locks();
    else if (strcmp(name, "post") == 0)
        control_post();
    else if (strcmp(name, "wake") == 0)
        control_wake();
    else
        CHECK(!"a control");
}

int main(int argc, char **argv)
{
    int system_calls = 0;
    CHECK(argc == 3);
    alarm(30);
    if (strcmp(argv[1], "control") == 0) {
        control(argv[2]);
        _exit(0);
    }
    start_other_loop();
    if (strcmp(argv[2], "stopped") == 0) {
        loop = RLRunLoopGetCurrent();
        add_sources(argv[1]);
        stopped();
    } else {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run, argv[1]) == 0);
        while (!atomic_load(&ready))
            usleep(20);
        until_asleep(loop);
        if (strcmp(argv[2], "asleep-descriptor") == 0)
            watch_a_descriptor();
        if (strcmp(argv[2], "running") == 0)
            running();
        else if (strcmp(argv[2], "callback") == 0)
            callback();
        else
            system_calls = asleep();
        RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, finish, NULL);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    printf("system calls %d\n", system_calls);
    fflush(stdout);
    _exit(0);
}
