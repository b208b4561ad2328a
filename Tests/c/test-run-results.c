/* Checks what RLRunLoopRunInMode() returns, and what observers see on the way. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static void note_info(void *info) { note(info); }
static void note_and_stop(void *info)
{
    note(info);
    RLRunLoopStop(rl);
}
static void note_timer(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }
static void stop_at_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    RLRunLoopStop(rl);
}

static RLRunLoopSourceRef add_source(RLIndex order, void (*perform)(void *), void *info)
{
    RLRunLoopSourceRef source = make_source(order, perform, info);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    return source;
}

START_TEST(an_empty_mode_is_finished_without_any_callback)
{
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    RLRunLoopRun();
    assert_notes("");
    drop_observer(observer);
}
END_TEST

START_TEST(an_unknown_mode_is_finished)
{
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("nobody uses this mode"), 10, 0), kRLRunLoopRunFinished);
}
END_TEST

static void remove_source_and_set_errno(void *info)
{
    RLRunLoopSourceInvalidate(*(RLRunLoopSourceRef *)info);
    errno = E2BIG;
}

/* Finished has several reasons (see test-resources.c for the others), and errno distinguishes them: 0 is an empty mode. */
START_TEST(errno_is_0_after_a_run_that_finished_because_the_mode_is_empty)
{
    errno = E2BIG;
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(errno, 0);
    errno = E2BIG;
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("unknown"), 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(errno, 0);

    RLRunLoopSourceRef source = NULL;
    source = add_source(0, remove_source_and_set_errno, &source);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(errno, 0);
    RLRelease(source);

    errno = E2BIG;
    RLRunLoopRun();
    ck_assert_int_eq(errno, 0);

    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopCommonModes, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(errno, EINVAL);
    assert_misuse("RLRunLoopRunInMode", "mode", NULL);
}
END_TEST

START_TEST(a_source_in_another_mode_does_not_keep_a_run_going)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 10, 0), kRLRunLoopRunFinished);
    drop_source(source);
}
END_TEST

START_TEST(an_idle_run_times_out)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    double start = monotonic_seconds();
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0), kRLRunLoopRunTimedOut);
    ck_assert_double_ge(monotonic_seconds() - start, 0.05);
    assert_notes("En BT BS BW AW Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(zero_seconds_polls)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(negative_seconds_are_one_pass)
{
    RLRunLoopSourceRef source = add_source(0, note_and_stop, "A");
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, -5, 0), kRLRunLoopRunTimedOut);
    assert_notes("A");
    drop_source(source);
}
END_TEST

START_TEST(huge_seconds_do_not_overflow)
{
    static const double many[] = {1e10, 1e20, 1e300, INFINITY};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, note_timer, "T");
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, many[i], 0), kRLRunLoopRunFinished);
        assert_notes("T");
        RLRelease(timer);
    }
}
END_TEST

START_TEST(a_run_returns_after_a_handled_source_if_requested)
{
    RLRunLoopSourceRef source = add_source(0, note_info, "A");
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("En BT BS A Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(a_run_polls_after_a_handled_source_unless_it_returns)
{
    RLRunLoopSourceRef source = add_source(0, note_info, "A");
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS A BT BS BW AW Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(a_returning_run_handles_exactly_one_of_several_sources)
{
    RLRunLoopSourceRef third = add_source(3, note_info, "3"), first = add_source(-1, note_info, "-1"),
                       second = add_source(2, note_info, "2");
    RLRunLoopSourceSignal(third);
    RLRunLoopSourceSignal(second);
    RLRunLoopSourceSignal(first);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("-1");
    ck_assert(!RLRunLoopSourceIsSignalled(first));
    ck_assert(RLRunLoopSourceIsSignalled(second));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("2 3");
    drop_source(first);
    drop_source(second);
    drop_source(third);
}
END_TEST

START_TEST(any_boolean_but_0_counts_as_1)
{
    RLRunLoopSourceRef source = add_source(0, note_info, "A");
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopEntry, 0x80, 0, count_activity, NULL);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0x80), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(RLRunLoopObserverDoesRepeat(observer), 1);
    assert_notes("A");
    RLRelease(observer);
    drop_source(source);
}
END_TEST

START_TEST(functions_then_source_then_timer_in_one_pass)
{
    RLRunLoopSourceRef source = add_source(0, note_info, "S");
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() - 1, 0, note_timer, "T");
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, note_info, "F"));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("F S T");
    drop_timer(timer);
    drop_source(source);
}
END_TEST

START_TEST(a_stop_in_a_source_stops_the_run)
{
    RLRunLoopSourceRef source = add_source(0, note_and_stop, "A");
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunStopped);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    RLRunLoopSourceSignal(source);
    RLRunLoopRun(); /* returns: it was stopped */
    assert_notes("A A A");
    drop_source(source);
}
END_TEST

START_TEST(a_stop_before_the_run_is_lost)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    RLRunLoopStop(rl);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0), kRLRunLoopRunTimedOut);
    RLRunLoopWakeUp(rl);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS BW AW Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(a_stop_at_entry_runs_nothing)
{
    RLRunLoopSourceRef source = add_source(0, note_info, "A");
    RLRunLoopObserverRef notes_taker = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef stopper = make_observer(kRLRunLoopEntry, 1, 1, stop_at_activity, NULL);
    RLRunLoopAddObserver(rl, stopper, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunStopped);
    assert_notes("En Ex");
    ck_assert(RLRunLoopSourceIsSignalled(source));
    drop_observer(stopper);
    drop_observer(notes_taker);
    drop_source(source);
}
END_TEST

START_TEST(a_stop_before_waiting_prevents_the_sleep)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    RLRunLoopObserverRef notes_taker = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef stopper = make_observer(kRLRunLoopBeforeWaiting, 1, 1, stop_at_activity, NULL);
    RLRunLoopAddObserver(rl, stopper, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    assert_notes("En BT BS BW AW Ex");
    drop_observer(stopper);
    drop_observer(notes_taker);
    drop_source(source);
}
END_TEST

static void remove_source(void *info) { RLRunLoopRemoveSource(rl, *(RLRunLoopSourceRef *)info, kRLRunLoopDefaultMode); }

START_TEST(removing_the_last_source_in_its_callback_finishes_the_run)
{
    RLRunLoopSourceRef source;
    source = add_source(0, remove_source, &source);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    drop_source(source);
}
END_TEST

static void *remove_from_sleeping_loop(void *info)
{
    await_waiting(rl);
    RLRunLoopRemoveSource(rl, info, kRLRunLoopDefaultMode);
    return NULL;
}

START_TEST(removing_the_last_source_from_another_thread_does_not_wake_the_loop)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    pthread_t thread = start_thread(remove_from_sleeping_loop, source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.5, 0), kRLRunLoopRunTimedOut);
    join_thread(thread);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    drop_source(source);
}
END_TEST

static void *stop_sleeping_loop(UNUSED void *info)
{
    await_waiting(rl);
    RLRunLoopStop(rl);
    return NULL;
}

START_TEST(a_stop_from_another_thread_wakes_and_stops_the_run)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    pthread_t thread = start_thread(stop_sleeping_loop, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    drop_source(source);
}
END_TEST

static void *wake_sleeping_loop(UNUSED void *info)
{
    await_waiting(rl);
    RLRunLoopWakeUp(rl);
    return NULL;
}

START_TEST(a_wake_up_alone_makes_one_pass)
{
    RLRunLoopSourceRef source = add_source(0, do_nothing, NULL);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(wake_sleeping_loop, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.5, 0), kRLRunLoopRunTimedOut);
    join_thread(thread);
    assert_notes("En BT BS BW AW BT BS BW AW Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("run-results");
    TCase *tcase = add_case(suite, "results", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, an_empty_mode_is_finished_without_any_callback);
    tcase_add_test(tcase, an_unknown_mode_is_finished);
    tcase_add_test(tcase, errno_is_0_after_a_run_that_finished_because_the_mode_is_empty);
    tcase_add_test(tcase, a_source_in_another_mode_does_not_keep_a_run_going);
    tcase_add_test(tcase, an_idle_run_times_out);
    tcase_add_test(tcase, zero_seconds_polls);
    tcase_add_test(tcase, negative_seconds_are_one_pass);
    tcase_add_test(tcase, huge_seconds_do_not_overflow);
    tcase_add_test(tcase, a_run_returns_after_a_handled_source_if_requested);
    tcase_add_test(tcase, a_run_polls_after_a_handled_source_unless_it_returns);
    tcase_add_test(tcase, a_returning_run_handles_exactly_one_of_several_sources);
    tcase_add_test(tcase, any_boolean_but_0_counts_as_1);
    tcase_add_test(tcase, functions_then_source_then_timer_in_one_pass);
    tcase_add_test(tcase, a_stop_in_a_source_stops_the_run);
    tcase_add_test(tcase, a_stop_before_the_run_is_lost);
    tcase_add_test(tcase, a_stop_at_entry_runs_nothing);
    tcase_add_test(tcase, a_stop_before_waiting_prevents_the_sleep);
    tcase_add_test(tcase, removing_the_last_source_in_its_callback_finishes_the_run);
    tcase_add_test(tcase, removing_the_last_source_from_another_thread_does_not_wake_the_loop);
    tcase_add_test(tcase, a_stop_from_another_thread_wakes_and_stops_the_run);
    tcase_add_test(tcase, a_wake_up_alone_makes_one_pass);
    return suite;
}
