/* Checks RLRunLoopTimerSetNextFireDate() in every situation, and the next fire date that a loop returns. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static const double ROUNDING = 5e-5;

/* A timer whose first callback changes its own date. */
struct record {
    RLRunLoopTimerRef timer;
    int calls, wanted;
    RLAbsoluteTime new_date, called[8], due[8];
    atomic_int done;
};

static void record_call(RLRunLoopTimerRef timer, void *info)
{
    struct record *record = info;
    record->called[record->calls] = RLAbsoluteTimeGetCurrent();
    record->due[record->calls] = RLRunLoopTimerGetNextFireDate(timer);
    if (record->calls++ == 0 && record->new_date != 0) {
        RLRunLoopTimerSetNextFireDate(timer, record->new_date);
        ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(timer), record->new_date, ROUNDING);
    }
    if (record->calls == record->wanted)
        RLRunLoopStop(RLRunLoopGetCurrent());
    record->done = record->calls;
}

static void add_record(struct record *record, RLAbsoluteTime date, RLTimeInterval interval)
{
    record->timer = make_timer(date, interval, record_call, record);
    RLRunLoopAddTimer(rl, record->timer, kRLRunLoopDefaultMode);
}

START_TEST(a_date_set_in_the_callback_of_a_repeating_timer_moves_its_grid)
{
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    struct record record = {.wanted = 3, .new_date = start + 0.053};
    add_record(&record, start, 0.02);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_double_eq_tol(record.due[1], start + 0.053, ROUNDING);
    ck_assert_double_ge(record.called[1], start + 0.053 - ROUNDING);
    double steps = (record.due[2] - record.due[1]) / 0.02;
    ck_assert_double_ge(steps, 0.9);
    ck_assert_double_eq_tol(steps, round(steps), 0.01);
    drop_timer(record.timer);
}
END_TEST

static void try_to_revive(RLRunLoopTimerRef timer, void *info)
{
    count_perform(info);
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 0.001);
}

START_TEST(a_date_set_in_the_callback_of_a_one_shot_timer_does_not_revive_it)
{
    atomic_int calls = 0, others = 0;
    RLRunLoopTimerRef timer = make_timer(0, 0, try_to_revive, &calls);
    RLRunLoopTimerRef later = make_timer(RLAbsoluteTimeGetCurrent() + 0.02, 0, count_timer, &others);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, later, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(others, 1);
    ck_assert(!RLRunLoopTimerIsValid(timer));
    RLRelease(timer);
    RLRelease(later);
}
END_TEST

START_TEST(a_timer_set_to_the_past_fires_in_the_next_pass)
{
    struct record record = {0};
    add_record(&record, RLAbsoluteTimeGetCurrent() + 3600, 3600);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.calls, 0);
    RLRunLoopTimerSetNextFireDate(record.timer, RLAbsoluteTimeGetCurrent() - 5);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.calls, 1);
    RLRunLoopTimerSetNextFireDate(record.timer, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.calls, 2);
    ck_assert_double_gt(RLRunLoopTimerGetNextFireDate(record.timer), RLAbsoluteTimeGetCurrent());
    drop_timer(record.timer);
}
END_TEST

START_TEST(a_due_timer_set_to_the_future_does_not_fire)
{
    struct record record = {0};
    add_record(&record, RLAbsoluteTimeGetCurrent() - 1, 0);
    RLRunLoopTimerSetNextFireDate(record.timer, RLAbsoluteTimeGetCurrent() + 3600);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    ck_assert_int_eq(record.calls, 0);
    static const double far[] = {5e8, 1e12, 1e300, INFINITY};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        RLRunLoopTimerSetNextFireDate(record.timer, far[i] + RLAbsoluteTimeGetCurrent());
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
        ck_assert_int_eq(record.calls, 0);
        ck_assert_double_le(RLRunLoopTimerGetNextFireDate(record.timer), 4039289856.0);
    }
    RLRunLoopTimerSetNextFireDate(record.timer, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.calls, 1);
    RLRelease(record.timer);
}
END_TEST

enum { MANY = 300, DUE = 280, MOVED = 278 };
static RLRunLoopTimerRef many[MANY];
static int called_by_now;

/* The first call sets another past date of a timer that the pass has not come to. */
static void check_place(UNUSED RLRunLoopTimerRef timer, void *info)
{
    ck_assert_int_eq((int)(intptr_t)info, called_by_now++);
    if (called_by_now == 1)
        RLRunLoopTimerSetNextFireDate(many[MOVED], RLAbsoluteTimeGetCurrent() - 200);
}

/* So many timers are not sorted all at once: the last of them, which are moved after the first have been found, are still unsorted. */
START_TEST(a_due_timer_set_to_another_past_date_during_a_pass_keeps_its_place)
{
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent() - DUE;
    for (int i = 0; i < MANY; i++) {
        many[i] = make_timer(start + i, 0, check_place, (void *)(intptr_t)i);
        RLRunLoopAddTimer(rl, many[i], kRLRunLoopDefaultMode);
    }
    ck_assert(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode) == start);
    RLRunLoopTimerSetNextFireDate(many[MOVED], start + MOVED);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_ge(called_by_now, DUE);
    for (int i = 0; i < MANY; i++)
        drop_timer(many[i]);
}
END_TEST

START_TEST(a_date_set_before_a_timer_is_added_takes_effect)
{
    struct record record = {0};
    record.timer = make_timer(RLAbsoluteTimeGetCurrent() + 3600, 0, record_call, &record);
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.01;
    RLRunLoopTimerSetNextFireDate(record.timer, date);
    ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(record.timer), date, ROUNDING);
    RLRunLoopAddTimer(rl, record.timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_double_ge(record.called[0], date - ROUNDING);
    RLRelease(record.timer);
}
END_TEST

START_TEST(setting_the_date_of_an_invalid_timer_has_no_effect)
{
    struct record record = {0};
    add_record(&record, RLAbsoluteTimeGetCurrent() + 3600, 0);
    RLRunLoopTimerInvalidate(record.timer);
    RLRunLoopTimerSetNextFireDate(record.timer, RLAbsoluteTimeGetCurrent());
    ck_assert_double_eq(RLRunLoopTimerGetNextFireDate(record.timer), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    RLRelease(record.timer);
}
END_TEST

START_TEST(an_earlier_date_set_by_another_thread_wakes_a_sleeping_loop)
{
    struct looper looper;
    struct record record = {0};
    looper_start(&looper);
    record.timer = make_timer(RLAbsoluteTimeGetCurrent() + 3600, 0, record_call, &record);
    RLRunLoopAddTimer(looper.loop, record.timer, kRLRunLoopDefaultMode);
    RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL, 1e10);
    await_waiting(looper.loop);
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.01;
    RLRunLoopTimerSetNextFireDate(record.timer, date);
    await_count(&record.done, 1); /* otherwise it would fire after an hour, and the time limit would end the test */
    ck_assert_double_ge(record.called[0], date - ROUNDING);
    looper_stop(&looper);
    RLRelease(record.timer);
}
END_TEST

START_TEST(a_timer_added_by_another_thread_wakes_a_sleeping_loop)
{
    struct looper looper;
    struct record record = {0};
    looper_start(&looper);
    await_waiting(looper.loop);
    record.timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, record_call, &record);
    RLRunLoopAddTimer(looper.loop, record.timer, kRLRunLoopDefaultMode);
    await_count(&record.done, 1);
    looper_stop(&looper);
    RLRelease(record.timer);
}
END_TEST

START_TEST(the_loop_returns_the_earliest_date_of_a_mode)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef timers[3];
    ck_assert_double_eq(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), 0);
    for (int i = 0; i < 3; i++) {
        timers[i] = make_timer(now + 1000 - 100 * i, 0, record_call, NULL);
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
        ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), now + 1000 - 100 * i,
                                ROUNDING);
    }
    RLRunLoopAddTimer(rl, timers[0], RLSTR("second"));
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, RLSTR("second")), now + 1000, ROUNDING);
    RLRunLoopTimerInvalidate(timers[2]);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), now + 900, ROUNDING);
    RLRunLoopTimerSetNextFireDate(timers[1], now + 2000);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), now + 1000, ROUNDING);
    RLRunLoopRemoveTimer(rl, timers[0], kRLRunLoopDefaultMode);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), now + 2000, ROUNDING);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, RLSTR("second")), now + 1000, ROUNDING);
    RLRunLoopTimerSetNextFireDate(timers[0], now - 7);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, RLSTR("second")), now - 7, ROUNDING);
    for (int i = 0; i < 3; i++)
        drop_timer(timers[i]);
    ck_assert_double_eq(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), 0);
}
END_TEST

START_TEST(a_timer_keeps_its_date_when_removed_and_added_again)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 1000;
    struct record record = {0};
    add_record(&record, date, 5);
    RLRunLoopRemoveTimer(rl, record.timer, kRLRunLoopDefaultMode);
    ck_assert(RLRunLoopTimerIsValid(record.timer));
    ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(record.timer), date, ROUNDING);
    RLRunLoopAddTimer(rl, record.timer, kRLRunLoopDefaultMode);
    ck_assert_double_eq_tol(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode), date, ROUNDING);
    drop_timer(record.timer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-date");
    TCase *tcase = add_case(suite, "date", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_date_set_in_the_callback_of_a_repeating_timer_moves_its_grid);
    tcase_add_test(tcase, a_date_set_in_the_callback_of_a_one_shot_timer_does_not_revive_it);
    tcase_add_test(tcase, a_timer_set_to_the_past_fires_in_the_next_pass);
    tcase_add_test(tcase, a_due_timer_set_to_the_future_does_not_fire);
    tcase_add_test(tcase, a_due_timer_set_to_another_past_date_during_a_pass_keeps_its_place);
    tcase_add_test(tcase, a_date_set_before_a_timer_is_added_takes_effect);
    tcase_add_test(tcase, setting_the_date_of_an_invalid_timer_has_no_effect);
    tcase_add_test(tcase, an_earlier_date_set_by_another_thread_wakes_a_sleeping_loop);
    tcase_add_test(tcase, a_timer_added_by_another_thread_wakes_a_sleeping_loop);
    tcase_add_test(tcase, the_loop_returns_the_earliest_date_of_a_mode);
    tcase_add_test(tcase, a_timer_keeps_its_date_when_removed_and_added_again);
    return suite;
}
