/* Checks when timers are called, and that repeating timers keep to their grid. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

/* The error that a double, and a wall clock that is being slewed (500 ppm at most), may cause over a tenth of a second. */
static const double ROUNDING = 5e-5;

static bool on_grid(RLAbsoluteTime date, RLAbsoluteTime start, RLTimeInterval interval)
{
    double steps = (date - start) / interval;
    return fabs(steps - round(steps)) * interval < ROUNDING;
}

/* A timer that records its calls, may be slow, and stops the loop after `wanted` calls. */
struct record {
    RLAbsoluteTime start;
    RLTimeInterval interval, busy; /* busy: how long the first call takes */
    int calls, wanted;
    RLAbsoluteTime called[64], due[64];
};

static void record_call(RLRunLoopTimerRef timer, void *info)
{
    struct record *record = info;
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    record->called[record->calls] = now;
    record->due[record->calls] = RLRunLoopTimerGetNextFireDate(timer); /* in its own callback: that of this call */
    if (record->calls++ == 0 && record->busy > 0)
        spin_until(now + record->busy);
    if (record->calls == record->wanted)
        RLRunLoopStop(rl);
}

static RLRunLoopTimerRef add_record(struct record *record)
{
    RLRunLoopTimerRef timer = make_timer(record->start, record->interval, record_call, record);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    return timer;
}

START_TEST(a_timer_returns_its_attributes)
{
    int info;
    RLRunLoopTimerContext context = {.info = &info}, got = {.version = 0};
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 1000;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, date, 2.5, 0, -3, record_call, &context);
    ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(timer), date, ROUNDING);
    ck_assert_double_eq(RLRunLoopTimerGetInterval(timer), 2.5);
    ck_assert(RLRunLoopTimerDoesRepeat(timer));
    ck_assert_int_eq(RLRunLoopTimerGetOrder(timer), -3);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(timer), 0);
    ck_assert(RLRunLoopTimerIsValid(timer));
    RLRunLoopTimerGetContext(timer, &got);
    ck_assert_ptr_eq(got.info, &info);
    RLRelease(timer);

    timer = RLRunLoopTimerCreate(NULL, date, -2.5, 0, 0, record_call, NULL); /* no context, no repetition */
    ck_assert_double_eq(RLRunLoopTimerGetInterval(timer), 0);
    ck_assert(!RLRunLoopTimerDoesRepeat(timer));
    RLRunLoopTimerGetContext(timer, &got);
    ck_assert_ptr_null(got.info);
    RLRelease(timer);
}
END_TEST

START_TEST(a_one_shot_is_called_once_never_early_and_is_invalid_afterwards)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() + 0.02};
    RLRunLoopTimerRef timer = add_record(&record);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(record.calls, 1);
    ck_assert_double_ge(record.called[0], record.start - ROUNDING);
    ck_assert_double_eq_tol(record.due[0], record.start, ROUNDING);
    ck_assert(!RLRunLoopTimerIsValid(timer));
    ck_assert(!RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    ck_assert_double_eq(RLRunLoopTimerGetNextFireDate(timer), 0);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode); /* invalid: no effect */
    ck_assert(!RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    RLRelease(timer);
}
END_TEST

static int early_calls;
static void check_not_early(RLRunLoopTimerRef timer, UNUSED void *info)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    early_calls += now < RLRunLoopTimerGetNextFireDate(timer) - 5e-6;
}

/* Distances from a microsecond to some milliseconds, because each way of sleeping rounds differently. */
START_TEST(a_timer_never_fires_early_at_any_distance)
{
    for (int i = 0; i < SCALED(1000); i++) {
        RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + i * 2.37e-6, 0, check_not_early, NULL);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) != kRLRunLoopRunFinished)
            ck_abort();
        RLRelease(timer);
    }
    ck_assert_int_eq(early_calls, 0);
}
END_TEST

START_TEST(a_repeating_timer_keeps_its_grid)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() + 0.1, .interval = 0.01, .wanted = 10};
    RLRunLoopTimerRef timer = add_record(&record);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    for (int i = 0; i < record.calls; i++) {
        ck_assert(on_grid(record.due[i], record.start, record.interval));
        ck_assert_double_ge(record.called[i], record.due[i] - ROUNDING);
        ck_assert(i == 0 || record.due[i] > record.due[i - 1] + record.interval / 2);
    }
    ck_assert(RLRunLoopTimerIsValid(timer));
    drop_timer(timer);
}
END_TEST

START_TEST(a_late_repeating_timer_fires_once_and_returns_to_its_grid)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() + 0.1, .interval = 0.02, .wanted = 3};
    RLRunLoopTimerRef timer = add_record(&record);
    spin_until(record.start + 3.5 * record.interval); /* four dates are missed */
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(record.calls, 1);
    RLAbsoluteTime next = RLRunLoopTimerGetNextFireDate(timer);
    ck_assert(on_grid(next, record.start, record.interval));
    ck_assert_double_gt(next, record.called[0]);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert(on_grid(record.due[1], record.start, record.interval));
    ck_assert(on_grid(record.due[2], record.start, record.interval));
    drop_timer(timer);
}
END_TEST

START_TEST(a_timer_with_a_slow_callback_skips_the_dates_it_missed)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() + 0.01, .interval = 0.02, .busy = 0.05, .wanted = 3};
    RLRunLoopTimerRef timer = add_record(&record);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    RLAbsoluteTime end_of_first = record.called[0] + record.busy;
    ck_assert_double_ge(record.due[1], end_of_first - ROUNDING);
    ck_assert(on_grid(record.due[1], record.start, record.interval));
    ck_assert(on_grid(record.due[2], record.start, record.interval));
    drop_timer(timer);
}
END_TEST

START_TEST(a_timer_with_a_past_date_fires_at_once_and_counts_from_now)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() - 10.005, .interval = 0.02, .wanted = 2};
    RLAbsoluteTime before = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef timer = add_record(&record);
    RLAbsoluteTime after = RLAbsoluteTimeGetCurrent();
    ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(timer), record.start, ROUNDING);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(record.calls, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    /* The grid starts somewhere between before and after. */
    double steps = floor((record.due[1] + ROUNDING - before) / record.interval);
    ck_assert_double_ge(steps, 1);
    ck_assert_double_le(record.due[1] - steps * record.interval, after + ROUNDING);
    drop_timer(timer);
}
END_TEST

START_TEST(a_timer_with_a_date_long_ago_fires_at_once)
{
    static const double dates[] = {0, -1, -1e10, -1e300, -INFINITY};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct record record = {.start = dates[i]};
        RLRunLoopTimerRef timer = add_record(&record);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        ck_assert_int_eq(record.calls, 1);
        RLRelease(timer);
    }
}
END_TEST

/* Semantics 3: dates are clamped to 4 039 289 856, and no sum of a date and an interval may overflow into the past. */
START_TEST(timers_in_the_far_future_never_fire)
{
    static const double dates[] = {5e8, 3.2e9, 4039289856.0, 1e10, 1e17, 1e300, INFINITY};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct record one_shot = {.start = RLAbsoluteTimeGetCurrent() + dates[i]};
        struct record repeating = {.start = RLAbsoluteTimeGetCurrent() + dates[i], .interval = dates[i]};
        RLRunLoopTimerRef timers[] = {add_record(&one_shot), add_record(&repeating)};
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0), kRLRunLoopRunTimedOut);
        ck_assert_int_eq(one_shot.calls + repeating.calls, 0);
        ck_assert_double_le(RLRunLoopTimerGetNextFireDate(timers[0]), 4039289856.0);
        drop_timer(timers[0]);
        drop_timer(timers[1]);
    }
}
END_TEST

START_TEST(a_huge_interval_does_not_overflow_after_the_first_call)
{
    static const double intervals[] = {5.05e8, 4e9, 1e18, 1e300, INFINITY};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        struct record record = {.start = RLAbsoluteTimeGetCurrent(), .interval = intervals[i]};
        RLRunLoopTimerRef timer = add_record(&record);
        for (int pass = 0; pass < 5; pass++)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0005, 0);
        ck_assert_int_eq(record.calls, 1);
        ck_assert(RLRunLoopTimerIsValid(timer));
        drop_timer(timer);
    }
}
END_TEST

START_TEST(a_tiny_interval_neither_hangs_a_pass_nor_starves_a_source)
{
    static const double intervals[] = {1e-9, 1e-12, 1e-300};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        atomic_int fired = 0, performed = 0;
        RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() - 1e6, intervals[i], count_timer, &fired);
        RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
        for (int pass = 0; pass < 3; pass++) {
            RLRunLoopSourceSignal(source);
            ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
        }
        ck_assert_int_eq(performed, 3);
        ck_assert_int_ge(fired, 1);
        ck_assert_int_le(fired, 4);
        drop_timer(timer);
        drop_source(source);
    }
}
END_TEST

START_TEST(a_timer_does_not_count_as_a_source)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent()};
    RLRunLoopTimerRef timer = add_record(&record);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunFinished);
    ck_assert_int_eq(record.calls, 1);
    RLRelease(timer);
}
END_TEST

START_TEST(a_timer_in_several_modes_is_one_timer)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() - 0.001, .interval = 3600};
    RLRunLoopTimerRef timer = add_record(&record);
    RLRunLoopAddTimer(rl, timer, RLSTR("second"));
    RLRunLoopAddTimer(rl, timer, RLSTR("second"));
    RLRunLoopRunInMode(RLSTR("second"), 0, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopRunInMode(RLSTR("second"), 0, 0);
    ck_assert_int_eq(record.calls, 1);
    RLRunLoopRemoveTimer(rl, timer, RLSTR("second"));
    ck_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 0, 0), kRLRunLoopRunFinished);
    drop_timer(timer);
}
END_TEST

static void *add_to_own_loop(void *info)
{
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), info, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsTimer(RLRunLoopGetCurrent(), info, kRLRunLoopDefaultMode));
    ck_assert(RLRunLoopContainsTimer(rl, info, kRLRunLoopDefaultMode));
    return NULL;
}

START_TEST(a_timer_of_one_loop_is_not_added_to_a_second)
{
    struct record record = {.start = RLAbsoluteTimeGetCurrent() + 3600};
    RLRunLoopTimerRef timer = add_record(&record);
    join_thread(start_thread(add_to_own_loop, timer));
    drop_timer(timer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-fire");
    TCase *tcase = add_case(suite, "fire", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_timer_returns_its_attributes);
    tcase_add_test(tcase, a_one_shot_is_called_once_never_early_and_is_invalid_afterwards);
    tcase_add_test(tcase, a_timer_never_fires_early_at_any_distance);
    tcase_add_test(tcase, a_repeating_timer_keeps_its_grid);
    tcase_add_test(tcase, a_late_repeating_timer_fires_once_and_returns_to_its_grid);
    tcase_add_test(tcase, a_timer_with_a_slow_callback_skips_the_dates_it_missed);
    tcase_add_test(tcase, a_timer_with_a_past_date_fires_at_once_and_counts_from_now);
    tcase_add_test(tcase, a_timer_with_a_date_long_ago_fires_at_once);
    tcase_add_test(tcase, timers_in_the_far_future_never_fire);
    tcase_add_test(tcase, a_huge_interval_does_not_overflow_after_the_first_call);
    tcase_add_test(tcase, a_tiny_interval_neither_hangs_a_pass_nor_starves_a_source);
    tcase_add_test(tcase, a_timer_does_not_count_as_a_source);
    tcase_add_test(tcase, a_timer_in_several_modes_is_one_timer);
    tcase_add_test(tcase, a_timer_of_one_loop_is_not_added_to_a_second);
    return suite;
}
