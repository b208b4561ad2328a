/* Checks queued functions: their order, modes, release functions, delays and cancellation. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static void note_info(void *info) { note(info); }
static int poll_default(void) { return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }
static void queue(RLTypeRef modes, const char *word)
{
    ck_assert(RLRunLoopPerformFunction(rl, modes, note_info, (void *)word));
}

START_TEST(functions_run_once_in_the_order_in_which_they_were_queued)
{
    queue(kRLRunLoopDefaultMode, "1");
    queue(kRLRunLoopCommonModes, "2");
    queue(kRLRunLoopDefaultMode, "3");
    ck_assert(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, note_info, "4"));
    ck_assert(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, note_info, "5", note_info));
    poll_default();
    assert_notes("1 2 3 4 5 5");
    ck_assert_int_eq(poll_default(), kRLRunLoopRunFinished);
    assert_notes("");
}
END_TEST

START_TEST(a_queued_function_keeps_its_mode_from_being_empty)
{
    queue(RLSTR("custom"), "b1");
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("custom"), 0.1, 0), kRLRunLoopRunTimedOut);
    assert_notes("b1");
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("custom"), 0.1, 0), kRLRunLoopRunFinished);
}
END_TEST

START_TEST(functions_of_other_modes_stay_queued)
{
    queue(RLSTR("other"), "other");
    queue(kRLRunLoopDefaultMode, "default");
    poll_default();
    assert_notes("default");
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    assert_notes("other");
}
END_TEST

START_TEST(a_function_of_several_modes_runs_once_in_whichever_runs_first)
{
    const void *names[] = {RLSTR("first"), RLSTR("second")};
    RLArrayRef modes = RLArrayCreate(NULL, names, 2, &kRLTypeArrayCallBacks);
    queue(modes, "once");
    RLRelease(modes); /* retained while the request is queued */
    RLRunLoopRunInMode(RLSTR("second"), 0, 0);
    RLRunLoopRunInMode(RLSTR("first"), 0, 0);
    assert_notes("once");
}
END_TEST

START_TEST(modes_may_be_passed_as_a_set)
{
    const void *names[] = {RLSTR("first"), RLSTR("second")};
    RLMutableSetRef modes = RLSetCreateMutable(NULL, 0, &kRLTypeSetCallBacks);
    RLSetAddValue(modes, names[0]);
    RLSetAddValue(modes, names[1]);
    queue(modes, "a");
    queue(modes, "b");
    RLSetRemoveAllValues(modes); /* queued functions have their own copy of the modes */
    RLRelease(modes);
    RLRunLoopRunInMode(RLSTR("third"), 0, 0);
    assert_notes("");
    RLRunLoopRunInMode(RLSTR("second"), 0, 0);
    RLRunLoopRunInMode(RLSTR("first"), 0, 0);
    assert_notes("a b");
}
END_TEST

START_TEST(a_function_of_the_common_modes_runs_in_a_mode_made_common_later)
{
    queue(kRLRunLoopCommonModes, "common");
    RLRunLoopRunInMode(RLSTR("later"), 0, 0);
    assert_notes("");
    RLRunLoopAddCommonMode(rl, RLSTR("later"));
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("later"), 0, 0), kRLRunLoopRunFinished);
    assert_notes(""); /* nothing has been added to the mode yet */
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, RLSTR("later"));
    drop_source(source);
    RLRunLoopRunInMode(RLSTR("later"), 0, 0);
    assert_notes("common");
}
END_TEST

static void queue_another(void *info)
{
    note(info);
    queue(kRLRunLoopDefaultMode, "inner");
}

START_TEST(a_function_queued_by_a_function_waits_for_the_next_step)
{
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, queue_another, "outer");
    queue(kRLRunLoopDefaultMode, "second");
    poll_default();
    poll_default();
    assert_notes("outer second inner");
}
END_TEST

static void queue_itself(void *info)
{
    count_perform(info);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, queue_itself, info);
}

START_TEST(a_function_that_always_queues_itself_does_not_keep_a_pass_from_ending)
{
    atomic_int calls = 0;
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, queue_itself, &calls);
    for (int pass = 0; pass < 10; pass++)
        ck_assert_int_eq(poll_default(), kRLRunLoopRunTimedOut);
    ck_assert_int_ge(calls, 10);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, queue_itself, &calls), 1);
}
END_TEST

static void run_nested(void *info)
{
    note(info);
    poll_default();
    note("end");
}

START_TEST(a_nested_run_calls_no_queued_function_twice)
{
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, run_nested, "nested");
    queue(kRLRunLoopDefaultMode, "A");
    queue(kRLRunLoopDefaultMode, "B");
    poll_default();
    poll_default();
    ck_assert_msg(strcmp(notes, "nested A B end") == 0 || strcmp(notes, "nested end A B") == 0, "%s", notes);
    notes[0] = 0;
}
END_TEST

START_TEST(functions_do_not_count_as_a_source)
{
    queue(kRLRunLoopDefaultMode, "F");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 1), kRLRunLoopRunTimedOut);
    assert_notes("F");
}
END_TEST

START_TEST(release_is_called_once_after_the_run_or_at_cancel)
{
    struct lifetime ran = {0}, cancelled = {0};
    ck_assert(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, do_nothing, &ran, lifetime_end));
    ck_assert(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, do_nothing, &cancelled, lifetime_end));
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, do_nothing, &cancelled), 1);
    ck_assert_int_eq(cancelled.releases, 1);
    ck_assert_int_eq(ran.releases, 0);
    poll_default();
    poll_default();
    ck_assert_int_eq(ran.releases, 1);
    ck_assert_int_eq(cancelled.releases, 1);
}
END_TEST

static void *post_with_release(void *life)
{
    await_waiting(rl);
    require(RLRunLoopPostFunctionWithRelease(rl, kRLRunLoopDefaultMode, stop_current, life, lifetime_end));
    return NULL;
}

START_TEST(a_post_with_release_wakes_the_loop_and_releases_once)
{
    struct lifetime ran = {0}, cancelled = {0};
    RLRunLoopTimerRef keeper = make_timer(HUGE_VAL, 0, count_timer, NULL);
    RLRunLoopAddTimer(rl, keeper, kRLRunLoopDefaultMode);
    ck_assert(RLRunLoopPostFunctionWithRelease(rl, kRLRunLoopDefaultMode, do_nothing, &cancelled, lifetime_end));
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &cancelled), 1);
    ck_assert_int_eq(cancelled.releases, 1);
    pthread_t thread = start_thread(post_with_release, &ran);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    poll_default();
    ck_assert_int_eq(ran.releases, 1);
    ck_assert_int_eq(cancelled.releases, 1);
    drop_timer(keeper);
}
END_TEST

START_TEST(cancel_finds_requests_by_function_and_info)
{
    int info, other;
    for (int i = 0; i < 3; i++)
        RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, &info);
    RLRunLoopPerformFunction(rl, RLSTR("other"), stop_current, &info);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, &other);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL);
    RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, do_nothing, &info, 3600);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, note_info, &info), 0);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, do_nothing, &info), 4); /* three queued and the delayed one */
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &info), 1); /* any function: that of the other mode */
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, do_nothing, NULL), 1); /* NULL is an info like any other */
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &other), 1);
    ck_assert_int_eq(poll_default(), kRLRunLoopRunFinished);
}
END_TEST

static void cancel_queued(void *info)
{
    note("canceller");
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, info), 1); /* not this function, which is running */
}

START_TEST(a_function_can_cancel_others_of_its_batch)
{
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, cancel_queued, "victim");
    queue(kRLRunLoopDefaultMode, "victim");
    queue(kRLRunLoopDefaultMode, "last");
    poll_default();
    poll_default();
    assert_notes("canceller last");
}
END_TEST

static RLAbsoluteTime called_at;
static void note_time(UNUSED void *info) { called_at = RLAbsoluteTimeGetCurrent(); }

START_TEST(a_delayed_function_is_never_early_and_ordered_by_date)
{
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "30", 0.030));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "10", 0.010));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_time, NULL, 0.020));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "0", 0));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "-1", -1));
    bool was_held_up = RLAbsoluteTimeGetCurrent() > start + 0.005; /* in that case the dates may be in another order */
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_double_ge(called_at, start + 0.020 - 5e-5);
    ck_assert_msg(strcmp(notes, "0 -1 10 30") == 0 || was_held_up, "%s", notes);
    notes[0] = 0;
}
END_TEST

/* _i is 0: no delay; 1: equal delays; 2: delays that grow by less than the clock advances between two calls. */
START_TEST(delayed_functions_run_in_the_order_in_which_they_were_queued)
{
    static const char *const words[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    static const double delays[] = {0, 0.002, -1e-9};
    for (int i = 0; i < 10; i++)
        ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, (void *)words[i],
                                                     delays[_i] < 0 ? i * 1e-9 : delays[_i]));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    assert_notes("0 1 2 3 4 5 6 7 8 9");
}
END_TEST

static void note_timer(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }

START_TEST(a_delay_of_0_runs_after_functions_already_due)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() - 1, 0, note_timer, "timer");
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "delayed", 0.0005));
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    spin_until(RLAbsoluteTimeGetCurrent() + 0.001);
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "none", 0));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "negative", -1000));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("timer delayed none negative");
    RLRelease(timer);
}
END_TEST

/* No delay is not a nanosecond later than now, however the clocks are rounded. */
START_TEST(a_delay_of_0_runs_in_an_immediately_following_pass)
{
    atomic_int calls = 0;
    for (int i = 1; i <= SCALED(10000); i++) {
        require(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, count_perform, &calls, 0));
        poll_default();
        require(calls == i);
    }
}
END_TEST

static void queue_again(void *info)
{
    note(info);
    if (strcmp(info, "last") != 0)
        ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, queue_again, "last", 0));
}

START_TEST(a_delay_of_0_in_a_delayed_function_runs_in_the_next_pass)
{
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, queue_again, "first", 0));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "second", 0));
    poll_default();
    assert_notes("first second");
    poll_default();
    assert_notes("last");
}
END_TEST

START_TEST(a_delay_beyond_the_last_date_never_expires)
{
    static const double delays[] = {HUGE_VAL, 1e300, 1e10, 4.1e9};
    for (int i = 0; i < 4; i++) {
        ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, note_info, "early", delays[i]));
        ck_assert_double_le(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), 4039289856.0);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
        ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, note_info, "early"), 1);
    }
    assert_notes("");
}
END_TEST

START_TEST(a_delayed_function_of_several_modes_runs_once)
{
    const void *names[] = {RLSTR("first"), RLSTR("second")};
    RLArrayRef modes = RLArrayCreate(NULL, names, 2, &kRLTypeArrayCallBacks);
    ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, modes, note_info, "once", 0.001));
    RLRelease(modes);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("first"), 1e9, 0), kRLRunLoopRunFinished);
    assert_notes("once");
}
END_TEST

START_TEST(a_delayed_function_wakes_a_sleeping_loop_of_another_thread)
{
    atomic_int calls = 0;
    struct looper looper;
    looper_start(&looper);
    await_waiting(looper.loop);
    ck_assert(RLRunLoopPerformFunctionAfterDelay(looper.loop, kRLRunLoopDefaultMode, count_perform, &calls, 0.001));
    await_count(&calls, 1);
    looper_stop(&looper);
    ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(a_hundred_thousand_queued_functions_all_run)
{
    enum { functions = SCALED(100000) };
    atomic_int calls = 0;
    for (int i = 0; i < functions; i++)
        if (!RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, count_perform, &calls))
            ck_abort();
    poll_default();
    ck_assert_int_eq(calls, functions);
    for (int i = 0; i < functions; i++)
        RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, count_perform, &calls);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, count_perform, &calls), functions);
    ck_assert_int_eq(poll_default(), kRLRunLoopRunFinished);
    ck_assert_int_eq(calls, functions);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-functions");
    TCase *tcase = add_case(suite, "functions", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, functions_run_once_in_the_order_in_which_they_were_queued);
    tcase_add_test(tcase, a_queued_function_keeps_its_mode_from_being_empty);
    tcase_add_test(tcase, functions_of_other_modes_stay_queued);
    tcase_add_test(tcase, a_function_of_several_modes_runs_once_in_whichever_runs_first);
    tcase_add_test(tcase, modes_may_be_passed_as_a_set);
    tcase_add_test(tcase, a_function_of_the_common_modes_runs_in_a_mode_made_common_later);
    tcase_add_test(tcase, a_function_queued_by_a_function_waits_for_the_next_step);
    tcase_add_test(tcase, a_function_that_always_queues_itself_does_not_keep_a_pass_from_ending);
    tcase_add_test(tcase, a_nested_run_calls_no_queued_function_twice);
    tcase_add_test(tcase, functions_do_not_count_as_a_source);
    tcase_add_test(tcase, release_is_called_once_after_the_run_or_at_cancel);
    tcase_add_test(tcase, a_post_with_release_wakes_the_loop_and_releases_once);
    tcase_add_test(tcase, cancel_finds_requests_by_function_and_info);
    tcase_add_test(tcase, a_function_can_cancel_others_of_its_batch);
    tcase_add_test(tcase, a_delayed_function_is_never_early_and_ordered_by_date);
    tcase_add_loop_test(tcase, delayed_functions_run_in_the_order_in_which_they_were_queued, 0, 3);
    tcase_add_test(tcase, a_delay_of_0_runs_after_functions_already_due);
    tcase_add_test(tcase, a_delay_of_0_runs_in_an_immediately_following_pass);
    tcase_add_test(tcase, a_delay_of_0_in_a_delayed_function_runs_in_the_next_pass);
    tcase_add_test(tcase, a_delay_beyond_the_last_date_never_expires);
    tcase_add_test(tcase, a_delayed_function_of_several_modes_runs_once);
    tcase_add_test(tcase, a_delayed_function_wakes_a_sleeping_loop_of_another_thread);
    tcase_add_test(tcase, a_hundred_thousand_queued_functions_all_run);
    return suite;
}
