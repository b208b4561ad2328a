/* The thread ends in a function that the kit calls: nothing is lost, and nothing is called again. */
#include "kit.h"

#include <signal.h>

static struct lifetime life;
static atomic_int calls;
static RLWorkersRef workers;

static void end_thread(void)
{
    calls++;
    pthread_exit(NULL);
}
static void in_signal(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info)
{
    end_thread();
}
static void in_child(UNUSED RLChildRef child, UNUSED const RLChildStatus *status, UNUSED void *info) { end_thread(); }
static void in_work(UNUSED RLWorkRef work, UNUSED void *info) { end_thread(); }
static void in_resolve(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error,
                       UNUSED void *info)
{
    end_thread();
}
static void work_on(UNUSED RLWorkRef work, UNUSED void *info) {}

static RLSignalContext signal_context = {0, &life, lifetime_retain, lifetime_release, NULL};
static RLChildContext child_context = {0, &life, lifetime_retain, lifetime_release, NULL};
static RLWorkContext work_context = {0, &life, lifetime_retain, lifetime_release, NULL};

static RLRunLoopSourceRef watch_signal(void)
{
    RLSignalRef signal = add(RLSignalCreate(NULL, SIGUSR1, 0, in_signal, &signal_context));
    require(kill(getpid(), SIGUSR1) == 0);
    return signal;
}

static RLRunLoopSourceRef watch_child(void)
{
    static const char *const arguments[] = {"true", NULL};
    RLChildSpawnOptions options = {.program = "/bin/true", .arguments = arguments, .output = kRLChildPipe};
    return add(RLChildCreateBySpawning(NULL, &options, in_child, &child_context));
}

static RLRunLoopSourceRef watch_work(void)
{
    RLWorkRef work = add(RLWorkCreate(NULL, 0, work_on, in_work, &work_context));
    require(RLWorkersSubmit(workers, work));
    return work;
}

static RLRunLoopSourceRef resolve(const char *host, double timeout)
{
    RLHostResolveRef resolve = add(RLHostResolveCreate(NULL, host, NULL, NULL, timeout, in_resolve, &work_context));
    require(timeout <= 0 || RLWorkersSubmit(workers, resolve));
    return resolve;
}
static RLRunLoopSourceRef watch_addresses(void) { return resolve("127.0.0.1", 100); }
static RLRunLoopSourceRef watch_time(void) { return resolve("127.0.0.1", 0); }

static RLRunLoopSourceRef (*const watches[])(void) = {watch_signal, watch_child, watch_work, watch_addresses,
                                                      watch_time};

static RLRunLoopSourceRef object;
static void *run_loop(void *number)
{
    object = watches[(intptr_t)number]();
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    require(false);
    return NULL;
}

START_TEST(nothing_is_lost)
{
    workers = RLWorkersCreate(NULL, 1);
    int before = open_descriptors();
    for (int round = 1; round <= 3; round++) {
        join_thread(start_thread(run_loop, (void *)(intptr_t)_i));
        ck_assert_int_eq(calls, round);
        add(object); /* a signal's object is valid still, the others are not */
        run_passes();
        ck_assert_int_eq(calls, round);
        drop_source(object);
        await_count(&life.releases, life.retains); /* a worker may be the last */
    }
    RLRelease(workers);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread ends");
    TCase *all = add_case(suite, "thread ends", 30);
    tcase_add_loop_test(all, nothing_is_lost, 0, (int)(sizeof watches / sizeof *watches));
    return suite;
}
