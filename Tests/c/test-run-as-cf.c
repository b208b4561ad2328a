/* Checks runs that are begun by CF's names (RLRunLoopRunAsCF, RLRunLoopRunInModeAsCF): for them, the main thread's loop is never
 * empty in a common mode. Each run follows the name that began it. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static void *stop_when_asleep(UNUSED void *info)
{
    await_waiting(rl);
    RLRunLoopStop(rl);
    return NULL;
}

START_TEST(the_empty_main_loop_waits)
{
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    double start = monotonic_seconds();
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0.05, 0), kRLRunLoopRunTimedOut);
    ck_assert_double_ge(monotonic_seconds() - start, 0.05);
    assert_notes("En BT BS BW AW Ex");
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0, 1), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS Ex");
    drop_observer(observer);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0), kRLRunLoopRunFinished);
}
END_TEST

START_TEST(the_empty_main_loop_runs_until_another_thread_stops_it)
{
    pthread_t thread = start_thread(stop_when_asleep, NULL);
    RLRunLoopRunAsCF();
    join_thread(thread);
    thread = start_thread(stop_when_asleep, NULL);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 60, 1), kRLRunLoopRunStopped);
    join_thread(thread);
}
END_TEST

static void *post_stop_when_asleep(UNUSED void *info)
{
    await_waiting(rl);
    ck_assert(RLRunLoopPostFunction(rl, kRLRunLoopCommonModes, stop_current, NULL));
    return NULL;
}

START_TEST(the_empty_main_loop_runs_functions_posted_by_another_thread)
{
    pthread_t thread = start_thread(post_stop_when_asleep, NULL);
    RLRunLoopRunAsCF();
    join_thread(thread);
}
END_TEST

START_TEST(an_empty_mode_that_is_not_common_ends_the_run)
{
    RLRunLoopMode mode = RLSTR("other");
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, mode);
    drop_source(source);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(mode, 60, 0), kRLRunLoopRunFinished);
    RLRunLoopAddCommonMode(rl, mode);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(mode, 0, 0), kRLRunLoopRunTimedOut);
}
END_TEST

static void *run_elsewhere(UNUSED void *info)
{
    RLRunLoopRunAsCF();
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 60, 0), kRLRunLoopRunFinished);
    return NULL;
}

START_TEST(an_empty_loop_of_another_thread_ends_the_run) { join_thread(start_thread(run_elsewhere, NULL)); }
END_TEST

/* A run begun by one name is nested in a run begun by the other, by the last source of the mode. */
static RLRunLoopSourceRef last;
static RLRunLoopRunResult nested;
static void run_nested_by_rl(UNUSED void *info)
{
    RLRunLoopSourceInvalidate(last);
    nested = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
}
static void run_nested_as_cf(UNUSED void *info)
{
    RLRunLoopSourceInvalidate(last);
    nested = RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0.01, 0);
}
static void add_last(void (*perform)(void *))
{
    last = make_source(0, perform, NULL);
    RLRunLoopAddSource(rl, last, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(last);
}

START_TEST(each_run_follows_the_function_that_began_it)
{
    add_last(run_nested_by_rl);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0.01, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(nested, kRLRunLoopRunFinished);
    drop_source(last);
    add_last(run_nested_as_cf);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(nested, kRLRunLoopRunTimedOut);
    drop_source(last);
}
END_TEST

/* A wake-up that an observer causes before the sleep ends is consumed by that sleep, which then checks whether the mode is empty.
 * In such a run it is not. */
static char activities[64];
static void write_down(UNUSED RLRunLoopObserverRef observer, RLRunLoopActivity activity, UNUSED void *info)
{
    static bool has_woken;
    if (activity == kRLRunLoopAfterWaiting && !has_woken) {
        has_woken = true;
        RLRunLoopWakeUp(rl);
    }
    strcat(activities, activity == kRLRunLoopBeforeWaiting  ? "sleep "
                       : activity == kRLRunLoopAfterWaiting ? "wake "
                                                            : "pass ");
}

START_TEST(an_empty_mode_sleeps_as_often_as_in_CF)
{
    atomic_int fired = 0;
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(
        NULL, kRLRunLoopBeforeTimers | kRLRunLoopBeforeWaiting | kRLRunLoopAfterWaiting, 1, 0, write_down, NULL);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0.1, 0), kRLRunLoopRunTimedOut);
    ck_assert_str_eq(activities, "pass sleep wake pass sleep wake ");
    drop_timer(timer);
    drop_observer(observer);
}
END_TEST

START_TEST(misuse_is_reported_under_the_called_name)
{
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(NULL, 60, 0), kRLRunLoopRunFinished);
    assert_misuse("RLRunLoopRunInModeAsCF", "mode", NULL);
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopCommonModes, 60, 0), kRLRunLoopRunFinished);
    assert_misuse("RLRunLoopRunInModeAsCF", "mode", "must be a single mode, not kRLRunLoopCommonModes");
    ck_assert_int_eq(RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, NAN, 0), kRLRunLoopRunTimedOut);
    assert_misuse("RLRunLoopRunInModeAsCF", "seconds", "not a number");
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("run as CF");
    TCase *all = add_case(suite, "as-cf", 30);
    tcase_add_checked_fixture(all, use_current_loop, NULL);
    tcase_add_test(all, the_empty_main_loop_waits);
    tcase_add_test(all, the_empty_main_loop_runs_until_another_thread_stops_it);
    tcase_add_test(all, the_empty_main_loop_runs_functions_posted_by_another_thread);
    tcase_add_test(all, an_empty_mode_that_is_not_common_ends_the_run);
    tcase_add_test(all, an_empty_loop_of_another_thread_ends_the_run);
    tcase_add_test(all, each_run_follows_the_function_that_began_it);
    tcase_add_test(all, an_empty_mode_sleeps_as_often_as_in_CF);
    tcase_add_test(all, misuse_is_reported_under_the_called_name);
    return suite;
}
