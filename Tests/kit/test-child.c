/* RLChild: all ways and orders in which children can exit; other code that waits for them; loops, fork, and misuse. */
#include "child.h"
#include <sys/ptrace.h>

static struct watcher watcher;

START_TEST(the_exit_of_a_child_is_reported_once)
{
    struct held held = start_held(7);
    watch_child(&watcher, held.process);
    ck_assert_int_eq(RLChildGetProcess(watcher.object), held.process);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1), kRLRunLoopRunTimedOut);
    ck_assert(!RLChildGetStatus(watcher.object, NULL));
    close(held.hold);
    run_until_finished();
    ck_assert_int_eq(watcher.calls, 1);
    ck_assert_int_eq(watcher.status.version, 0);
    ck_assert_int_eq(watcher.status.process, held.process);
    ck_assert_int_eq(watcher.status.end, kRLChildExited);
    ck_assert_int_eq(watcher.status.status, 7);
    ck_assert_int_gt(watcher.status.peakMemory, 0);
    ck_assert_int_eq(((const struct rusage *)watcher.status.rusage)->ru_maxrss * 1024, watcher.status.peakMemory);
    ck_assert_int_eq(waitpid(held.process, NULL, 0), -1); /* it has been reaped */
    RLChildStatus again = {.version = 0};
    ck_assert(RLChildGetStatus(watcher.object, &again) && memcmp(&again, &watcher.status, sizeof again) == 0);
    RLRelease(watcher.object);
}
END_TEST

START_TEST(a_child_killed_by_a_signal_is_reported)
{
    struct held held = start_held(0);
    watch_child(&watcher, held.process);
    ck_assert(RLChildSendSignal(watcher.object, 0));
    ck_assert(RLChildSendSignal(watcher.object, SIGUSR1));
    run_until_finished();
    ck_assert_int_eq(watcher.status.end, kRLChildKilled);
    ck_assert_int_eq(watcher.status.status, SIGUSR1);
    ck_assert(!RLChildSendSignal(watcher.object, SIGUSR1) && errno == ESRCH);
    RLRelease(watcher.object);
    close(held.hold);
}
END_TEST

START_TEST(the_status_of_a_child_includes_its_processor_time)
{
    pid_t process = fork_child();
    if (process == 0) {
        struct rusage usage;
        do
            getrusage(RUSAGE_SELF, &usage);
        while (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec < 20000);
        _exit(0);
    }
    watch_child(&watcher, process);
    run_until_finished();
    double time = watcher.status.userTime + watcher.status.systemTime;
    ck_assert(time >= 0.015 && time < 60);
    RLRelease(watcher.object);
}
END_TEST

START_TEST(a_child_that_has_already_exited_is_reported)
{
    struct held held = start_held(3);
    close(held.hold);
    await_end(held.process);
    watch_child(&watcher, held.process);
    run_until_finished();
    ck_assert_int_eq(watcher.status.status, 3);
    RLRelease(watcher.object);
}
END_TEST

START_TEST(only_the_watched_child_is_reaped)
{
    struct held other = start_held(1), ours = start_held(2);
    int status;
    watch_child(&watcher, ours.process);
    close(other.hold);
    await_end(other.process);
    close(ours.hold);
    run_until_finished();
    ck_assert_int_eq(watcher.status.status, 2);
    ck_assert_int_eq(waitpid(-1, &status, 0), other.process);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    RLRelease(watcher.object);
}
END_TEST

START_TEST(a_released_object_does_not_reap_its_child)
{
    struct held held = start_held(5);
    int status;
    watch_child(&watcher, held.process);
    drop_source(watcher.object);
    close(held.hold);
    ck_assert_int_eq(waitpid(held.process, &status, 0), held.process);
    ck_assert_int_eq(WEXITSTATUS(status), 5);
    ck_assert_int_eq(watcher.calls, 0);
}
END_TEST

/* -- Other code that waits for the child -- */

static void expect_lost(void)
{
    run_until_finished();
    ck_assert_int_eq(watcher.calls, 1);
    ck_assert_int_eq(watcher.status.end, kRLChildLost);
    ck_assert_int_eq(watcher.status.status, 0);
    RLRelease(watcher.object);
}

START_TEST(a_status_that_was_reaped_elsewhere_is_reported_as_lost)
{
    struct held held = start_held(1);
    watch_child(&watcher, held.process);
    close(held.hold);
    ck_assert_int_eq(waitpid(held.process, NULL, 0), held.process);
    expect_lost();
}
END_TEST

START_TEST(a_status_that_the_kernel_discards_is_reported_as_lost)
{
    signal(SIGCHLD, SIG_IGN);
    struct held held = start_held(1);
    watch_child(&watcher, held.process);
    close(held.hold);
    expect_lost();
}
END_TEST

static void *create_for_own_thread(UNUSED void *info)
{
    errno = 0;
    require(RLChildCreate(NULL, gettid(), child_ended, NULL) == NULL && errno == ESRCH);
    return NULL;
}

START_TEST(a_process_that_is_not_a_child_is_refused)
{
    errno = 0;
    ck_assert(RLChildCreate(NULL, getppid(), child_ended, NULL) == NULL && errno == ECHILD);
    struct held held = start_held(0);
    close(held.hold);
    ck_assert_int_eq(waitpid(held.process, NULL, 0), held.process);
    ck_assert(RLChildCreate(NULL, held.process, child_ended, NULL) == NULL && errno == ESRCH);
    ck_assert(RLChildCreate(NULL, getpid(), child_ended, NULL) == NULL && errno == ECHILD);
    join_thread(start_thread(create_for_own_thread, NULL));
}
END_TEST

/* -- Loops -- */

enum { many = 100 };
START_TEST(many_children_may_exit_in_any_order)
{
    static struct watcher watchers[many];
    struct held held[many];
    for (int i = 0; i < many; i++) {
        held[i] = start_held(i);
        watch_child(&watchers[i], held[i].process);
    }
    for (int i = 0; i < many; i++)
        close(held[(i * 37) % many].hold);
    run_until_finished();
    for (int i = 0; i < many; i++) {
        ck_assert_int_eq(watchers[i].calls, 1);
        ck_assert_int_eq(watchers[i].status.status, i);
        RLRelease(watchers[i].object);
    }
}
END_TEST

static void release_object(struct watcher *released) { RLRelease(released->object); }
static void run_nested(UNUSED struct watcher *outer) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

START_TEST(a_child_callback_may_release_its_object_or_run_the_loop)
{
    struct held held[2] = {start_held(0), start_held(0)};
    struct watcher watchers[2] = {{.action = release_object}, {.action = run_nested}};
    int before = open_descriptors();
    for (int i = 0; i < 2; i++) {
        watch_child(&watchers[i], held[i].process);
        close(held[i].hold);
    }
    run_until_finished();
    ck_assert(watchers[0].calls == 1 && watchers[1].calls == 1);
    RLRelease(watchers[1].object);
    ck_assert_int_le(open_descriptors(), before); /* the two of the loop, less the two that were closed */
}
END_TEST

START_TEST(one_of_several_loops_reports_a_child)
{
    for (int round = 0; round < SCALED(20); round++) {
        struct looper loopers[3] = {0};
        struct held held = start_held(9);
        RLChildContext context = {.info = &watcher};
        watcher.calls = 0;
        watcher.object = RLChildCreate(NULL, held.process, child_ended, &context);
        for (int i = 0; i < 3; i++) {
            looper_start(&loopers[i]);
            RLRunLoopAddSource(loopers[i].loop, watcher.object, kRLRunLoopDefaultMode);
        }
        close(held.hold);
        await_count(&watcher.calls, 1);
        for (int i = 0; i < 3; i++)
            looper_stop(&loopers[i]);
        ck_assert_int_eq(watcher.calls, 1);
        ck_assert_int_eq(watcher.status.status, 9);
        RLRelease(watcher.object);
    }
}
END_TEST

static void *watch_on_a_thread(void *process)
{
    watch_child(&watcher, (pid_t)(intptr_t)process);
    return NULL; /* the thread exits with the object in its loop */
}

START_TEST(a_child_object_outlives_the_thread_of_its_loop)
{
    struct held held = start_held(4);
    join_thread(start_thread(watch_on_a_thread, (void *)(intptr_t)held.process));
    close(held.hold);
    add(watcher.object);
    run_until_finished();
    ck_assert_int_eq(watcher.status.status, 4);
    RLRelease(watcher.object);
}
END_TEST

static void run_in_forked(UNUSED void *info)
{
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 20, 0);
    child_assert(watcher.calls == 0 && !RLRunLoopSourceIsValid(watcher.object));
    RLRelease(watcher.object);
}

START_TEST(a_forked_process_is_not_notified_of_its_parents_child)
{
    struct held held = start_held(6);
    watch_child(&watcher, held.process);
    close(held.hold);
    await_end(held.process);
    ck_assert_int_eq(run_in_child(run_in_forked, NULL), 0);
    run_until_finished();
    ck_assert_int_eq(watcher.status.status, 6);
    RLRelease(watcher.object);
}
END_TEST

/* -- Misuse -- */

static void create_negative(void) { ck_assert_ptr_null(RLChildCreate(NULL, -1, child_ended, NULL)); }
static void create_without_callout(void) { ck_assert_ptr_null(RLChildCreate(NULL, 1, NULL, NULL)); }
static void create_version(void)
{
    RLChildContext context = {.version = 3};
    ck_assert_ptr_null(RLChildCreate(NULL, 1, child_ended, &context));
}
static void ask_null(void) { ck_assert(RLChildGetProcess(NULL) == 0); }
static RLSignalRef signal_object;
static void ask_signal(void) { ck_assert(!RLChildSendSignal(signal_object, SIGTERM)); }
static void ignore(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) {}

static void query_unknown_version(void)
{
    RLChildStatus status = {.version = 1, .process = -5};
    ck_assert(!RLChildGetStatus(watcher.object, &status) && status.process == -5);
}

START_TEST(no_status_of_an_unknown_version_is_written)
{
    struct held held = start_held(0);
    watch_child(&watcher, held.process);
    assert_reports(query_unknown_version, "runloop: RLChildGetStatus: status: version must be 0");
    close(held.hold);
    run_until_finished();
    assert_reports(query_unknown_version, "runloop: RLChildGetStatus: status: version must be 0");
    RLRelease(watcher.object);
}
END_TEST

START_TEST(wrong_arguments_of_child_functions_are_reported)
{
    assert_reports(create_negative, "runloop: RLChildCreate: process: not positive");
    assert_reports(create_without_callout, "runloop: RLChildCreate: callout: expected a function, got NULL");
    assert_reports(create_version, "runloop: RLChildCreate: context: version must be 0");
    assert_reports(ask_null, "runloop: RLChildGetProcess: child: expected RLChild, got NULL");
    signal_object = RLSignalCreate(NULL, SIGHUP, 0, ignore, NULL);
    assert_reports(ask_signal, "runloop: RLChildSendSignal: child: expected RLChild, got RLSignal");
    RLRelease(signal_object);
}
END_TEST

/* Traces the child without ever handling its exit: meanwhile the parent cannot wait for the child. */
static void trace_child(struct held held, int ready)
{
    close(held.hold);
    require(ptrace(PTRACE_SEIZE, held.process, NULL, NULL) == 0);
    require(write(ready, "x", 1) == 1);
    pause();
    _exit(0);
}

START_TEST(a_child_held_by_its_tracer_keeps_no_loop_busy)
{
    struct held held = start_held(7);
    int ends[2];
    char byte;
    require(pipe(ends) == 0);
    pid_t tracer = fork_child();
    if (tracer == 0)
        trace_child(held, ends[1]);
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        return; /* tracing is not permitted here */
    watch_child(&watcher, held.process);
    atomic_int passes = 0;
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    close(held.hold);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(watcher.calls, 0);
    ck_assert_int_lt(passes, 10);
    kill(tracer, SIGKILL);
    run_until_finished();
    ck_assert_int_eq(watcher.status.status, 7);
    waitpid(tracer, NULL, 0);
    drop_observer(observer);
    RLRelease(watcher.object);
    close(ends[0]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("child");
    TCase *ends = add_case(suite, "ends", 30);
    tcase_add_test(ends, the_exit_of_a_child_is_reported_once);
    tcase_add_test(ends, a_child_held_by_its_tracer_keeps_no_loop_busy);
    tcase_add_test(ends, a_child_killed_by_a_signal_is_reported);
    tcase_add_test(ends, the_status_of_a_child_includes_its_processor_time);
    tcase_add_test(ends, a_child_that_has_already_exited_is_reported);
    tcase_add_test(ends, only_the_watched_child_is_reaped);
    tcase_add_test(ends, a_released_object_does_not_reap_its_child);
    tcase_add_test(ends, a_status_that_was_reaped_elsewhere_is_reported_as_lost);
    tcase_add_test(ends, a_status_that_the_kernel_discards_is_reported_as_lost);
    tcase_add_test(ends, a_process_that_is_not_a_child_is_refused);
    TCase *loops = add_case(suite, "loops", 60);
    tcase_add_test(loops, many_children_may_exit_in_any_order);
    tcase_add_test(loops, a_child_callback_may_release_its_object_or_run_the_loop);
    tcase_add_test(loops, one_of_several_loops_reports_a_child);
    tcase_add_test(loops, a_child_object_outlives_the_thread_of_its_loop);
    tcase_add_test(loops, a_forked_process_is_not_notified_of_its_parents_child);
    tcase_add_test(loops, no_status_of_an_unknown_version_is_written);
    tcase_add_test(loops, wrong_arguments_of_child_functions_are_reported);
    return suite;
}
