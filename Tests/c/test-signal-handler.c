/* Checks RLRunLoopWakeUp(), RLRunLoopSourceSignal() and RLRunLoopStop() in a POSIX signal handler at any moment, and sleeps that
 * a signal interrupts. */
#include "harness.h"

#include <sched.h>
#include <signal.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef handler_source;
static atomic_int handled, errno_changed, performed;
static void (*in_handler)(void);

static void on_signal(UNUSED int number)
{
    int interrupted_errno = errno;
    errno = 4711;
    in_handler();
    if (errno != 4711)
        errno_changed++;
    errno = interrupted_errno;
    handled++;
}

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    handler_source = make_source(0, count_perform, &performed);
    RLRunLoopAddSource(rl, handler_source, kRLRunLoopDefaultMode);
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: sleeps are interrupted */
    sigaction(SIGUSR1, &action, NULL);
}

static void tear_down(void)
{
    ck_assert_int_eq(errno_changed, 0);
    drop_source(handler_source);
}

static void nothing(void) {}
static void stop(void) { RLRunLoopStop(rl); }
static void signal_and_wake(void)
{
    RLRunLoopSourceSignal(handler_source);
    RLRunLoopWakeUp(rl);
}
static void all_five(void)
{
    RLRunLoopIsWaiting(rl);
    RLRunLoopSourceIsSignalled(handler_source);
    RLRunLoopSourceSignal(handler_source);
    RLRunLoopWakeUp(rl);
    RLRunLoopStop(rl);
}

static pthread_t runner;
static void *interrupt_sleeper(UNUSED void *info)
{
    await_waiting(rl);
    pthread_kill(runner, SIGUSR1);
    return NULL;
}

static int run_and_interrupt(void (*handler)(void), double seconds, bool returning)
{
    in_handler = handler;
    runner = pthread_self();
    pthread_t thread = start_thread(interrupt_sleeper, NULL);
    int result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, returning);
    join_thread(thread);
    ck_assert_int_eq(handled, 1);
    return result;
}

START_TEST(a_stop_in_a_signal_handler_ends_the_sleep)
{
    ck_assert_int_eq(run_and_interrupt(stop, 1e9, 0), kRLRunLoopRunStopped);
}
END_TEST

START_TEST(a_signal_and_wake_up_in_a_signal_handler_perform_the_source)
{
    ck_assert_int_eq(run_and_interrupt(signal_and_wake, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(performed, 1);
}
END_TEST

START_TEST(an_unrelated_signal_keeps_the_deadline)
{
    double start = monotonic_seconds();
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_and_interrupt(nothing, 0.5, 0), kRLRunLoopRunTimedOut);
    ck_assert_double_ge(monotonic_seconds() - start, 0.5);
    ck_assert_int_eq(performed, 0);
    assert_notes("En BT BS BW AW Ex"); /* observers do not see that the sleep was interrupted */
    drop_observer(observer);
}
END_TEST

static int never_ready(void *info) { return *(int *)info; }

START_TEST(signal_handlers_reach_a_loop_that_sleeps_in_epoll)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    RLRunLoopSourceRef source = make_port_source(0, never_ready, do_nothing, &ends[0]);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_and_interrupt(stop, 1e9, 0), kRLRunLoopRunStopped);
    handled = 0;
    ck_assert_int_eq(run_and_interrupt(signal_and_wake, 1e9, 1), kRLRunLoopRunHandledSource);
    handled = 0;
    double start = monotonic_seconds();
    ck_assert_int_eq(run_and_interrupt(nothing, 0.5, 0), kRLRunLoopRunTimedOut);
    ck_assert_double_ge(monotonic_seconds() - start, 0.5);
    drop_source(source);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* The handler runs on the thread that is in the middle of changing the loop. */
enum { SIGNALS = SCALED(20000) };
static atomic_int storm_over;

static void *send_storm(UNUSED void *info)
{
    for (int i = 0; i < SIGNALS; i++) {
        int before = handled;
        pthread_kill(runner, SIGUSR1);
        await_count(&handled, before + 1);
    }
    storm_over = 1;
    return NULL;
}

static int storm_calls;
static void count_storm_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { storm_calls++; }

static void change_everything(int round)
{
    static int infos[8];
    RLRunLoopTimerRef timer =
        make_timer(RLAbsoluteTimeGetCurrent() + round % 3 * 1e-5, round % 2 * 0.001, count_storm_timer, NULL);
    RLRunLoopSourceRef source = make_source(round % 8, do_nothing, &infos[round % 8]);
    RLRunLoopObserverRef observer =
        make_observer(kRLRunLoopAllActivities, round % 2, round % 8, count_activity, &performed);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopCommonModes);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 1e-5);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, round % 4 * 1e-4, 0);
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    drop_observer(observer);
    drop_source(source);
    drop_timer(timer);
}

static void storm(void (*handler)(void))
{
    in_handler = handler;
    runner = pthread_self();
    pthread_t thread = start_thread(send_storm, NULL);
    for (int round = 0; !storm_over; round++)
        change_everything(round);
    join_thread(thread);
    ck_assert_int_eq(handled, SIGNALS);
    ck_assert_int_ge(performed, 1);
}

START_TEST(a_storm_of_signal_handlers_may_wake_and_signal) { storm(signal_and_wake); }
END_TEST

START_TEST(a_storm_of_signal_handlers_may_also_stop) { storm(all_five); }
END_TEST

/* The handler signals a source of another loop, on a thread that may hold any lock. */
static struct looper other;
static RLRunLoopSourceRef other_source;
static atomic_int other_performed;
static void wake_other(void)
{
    RLRunLoopSourceSignal(other_source);
    RLRunLoopWakeUp(other.loop);
}

START_TEST(a_storm_of_signal_handlers_may_wake_another_loop)
{
    looper_start(&other);
    other_source = make_source(7, count_perform, &other_performed);
    RLRunLoopAddSource(other.loop, other_source, kRLRunLoopDefaultMode);
    storm(wake_other);
    while (RLRunLoopSourceIsSignalled(other_source)) /* if the last wake-up were lost, this would never end */
        sched_yield();
    looper_stop(&other);
    ck_assert_int_ge(other_performed, 1);
    drop_source(other_source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("signal-handler");
    TCase *tcase = add_case(suite, "handler", 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_stop_in_a_signal_handler_ends_the_sleep);
    tcase_add_test(tcase, a_signal_and_wake_up_in_a_signal_handler_perform_the_source);
    tcase_add_test(tcase, an_unrelated_signal_keeps_the_deadline);
    tcase_add_test(tcase, signal_handlers_reach_a_loop_that_sleeps_in_epoll);
    tcase_add_test(tcase, a_storm_of_signal_handlers_may_wake_and_signal);
    tcase_add_test(tcase, a_storm_of_signal_handlers_may_also_stop);
    tcase_add_test(tcase, a_storm_of_signal_handlers_may_wake_another_loop);
    return suite;
}
