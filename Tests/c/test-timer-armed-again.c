/* Checks timers with a delay from now on, and timers that stay valid after their callback and are armed again. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

/* A date is a double: how far a present date may be off. */
static const double ROUNDING = 1e-6;

static RLRunLoopTimerRef add_rearmable(RLRunLoopTimerCallBack callout, void *info)
{
    RLRunLoopTimerContext context = {.info = info};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateRearmable(NULL, callout, &context);
    ck_assert_ptr_nonnull(timer);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    return timer;
}

static bool is_disarmed(RLRunLoopTimerRef timer)
{
    return RLRunLoopTimerIsValid(timer) && RLRunLoopTimerGetNextFireDate(timer) > RLAbsoluteTimeGetCurrent() + 1e9;
}

static void stop_and_count(UNUSED RLRunLoopTimerRef timer, void *info)
{
    count_perform(info);
    RLRunLoopStop(rl);
}

/* -- A delay from now on -- */

START_TEST(a_delayed_timer_never_fires_early)
{
    for (int i = 0; i < SCALED(300); i++) {
        atomic_int calls = 0;
        RLTimeInterval delay = i * 5.3e-6;
        RLRunLoopTimerContext context = {.info = (void *)&calls};
        double begin = monotonic_seconds();
        RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, delay, 0, count_timer, &context);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) == kRLRunLoopRunFinished);
        require(monotonic_seconds() - begin >= delay - ROUNDING);
        require(calls == 1 && !RLRunLoopTimerIsValid(timer));
        RLRelease(timer);
    }
}
END_TEST

START_TEST(a_delayed_timer_repeats_if_it_has_an_interval)
{
    RLAbsoluteTime before = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 100, 2.5, count_timer, NULL);
    RLAbsoluteTime after = RLAbsoluteTimeGetCurrent();
    ck_assert(RLRunLoopTimerDoesRepeat(timer));
    ck_assert_double_eq(RLRunLoopTimerGetInterval(timer), 2.5);
    ck_assert_double_ge(RLRunLoopTimerGetNextFireDate(timer), before + 100 - ROUNDING);
    ck_assert_double_le(RLRunLoopTimerGetNextFireDate(timer), after + 100 + ROUNDING);
    RLRunLoopTimerSetNextFireDelay(timer, 5);
    ck_assert_double_ge(RLRunLoopTimerGetNextFireDate(timer), before + 5 - ROUNDING);
    ck_assert_double_lt(RLRunLoopTimerGetNextFireDate(timer), after + 100);
    drop_timer(timer);
}
END_TEST

START_TEST(a_negative_delay_fires_in_the_next_pass_and_an_infinite_one_never)
{
    atomic_int calls = 0;
    RLRunLoopTimerContext context = {.info = (void *)&calls};
    RLRunLoopTimerRef past = RLRunLoopTimerCreateWithDelay(NULL, -HUGE_VAL, 0, count_timer, &context);
    RLRunLoopTimerRef never = RLRunLoopTimerCreateWithDelay(NULL, HUGE_VAL, 0, count_timer, &context);
    RLRunLoopAddTimer(rl, past, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, never, kRLRunLoopDefaultMode);
    ck_assert(is_disarmed(never));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    ck_assert_int_eq(calls, 1);
    RLRunLoopTimerSetNextFireDelay(never, -1);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(calls, 2);
    RLRelease(past);
    RLRelease(never);
}
END_TEST

/* -- Timers that stay valid -- */

START_TEST(a_rearmable_timer_waits_to_be_armed_and_keeps_its_mode_running)
{
    atomic_int calls = 0;
    RLRunLoopTimerRef timer = add_rearmable(count_timer, (void *)&calls);
    ck_assert(is_disarmed(timer));
    ck_assert(!RLRunLoopTimerDoesRepeat(timer));
    ck_assert_double_eq(RLRunLoopTimerGetInterval(timer), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 0);
    drop_timer(timer);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
}
END_TEST

START_TEST(a_rearmable_timer_is_called_once_each_time_it_is_armed)
{
    atomic_int calls = 0;
    RLRunLoopTimerRef timer = add_rearmable(stop_and_count, (void *)&calls);
    for (int round = 1; round <= 100; round++) {
        if (round % 2)
            RLRunLoopTimerSetNextFireDelay(timer, 0.0001);
        else
            RLRunLoopTimerSetNextFireDate(timer, 0); /* in 2001: it fires in the next pass */
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) == kRLRunLoopRunStopped);
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0) == kRLRunLoopRunTimedOut);
        require(calls == round && is_disarmed(timer));
        require(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    }
    drop_timer(timer);
}
END_TEST

START_TEST(a_timer_armed_again_before_it_is_due_is_called_once)
{
    atomic_int calls = 0;
    RLRunLoopTimerRef timer = add_rearmable(count_timer, (void *)&calls);
    for (int i = 0; i < 10; i++) {
        RLRunLoopTimerSetNextFireDelay(timer, 0.001); /* like an idle timeout that each event postpones */
        RLRunLoopTimerSetNextFireDelay(timer, 100);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.005, 0);
    ck_assert_int_eq(calls, 0);
    RLRunLoopTimerSetNextFireDelay(timer, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(calls, 1);
    RLRunLoopTimerSetNextFireDelay(timer, 0);
    RLRunLoopTimerSetNextFireDelay(timer, HUGE_VAL); /* disarmed */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    ck_assert_int_eq(calls, 1);
    drop_timer(timer);
}
END_TEST

static void arm_itself_twice(RLRunLoopTimerRef timer, void *info)
{
    count_perform(info);
    require(RLRunLoopTimerIsValid(timer));
    if (*(atomic_int *)info < 3)
        RLRunLoopTimerSetNextFireDelay(timer, *(atomic_int *)info == 1 ? 0 : 0.001);
    else
        RLRunLoopStop(rl);
}

START_TEST(a_rearmable_timer_may_arm_itself_in_its_callback)
{
    atomic_int calls = 0;
    RLRunLoopTimerRef timer = add_rearmable(arm_itself_twice, (void *)&calls);
    RLRunLoopTimerSetNextFireDelay(timer, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(calls, 3);
    ck_assert(is_disarmed(timer));
    drop_timer(timer);
}
END_TEST

static void *arm_from_here(void *timer)
{
    await_waiting(rl);
    RLRunLoopTimerSetNextFireDelay(timer, 0.001);
    return NULL;
}

START_TEST(a_rearmable_timer_is_armed_by_another_thread_while_the_loop_sleeps)
{
    atomic_int calls = 0;
    RLRunLoopTimerRef timer = add_rearmable(stop_and_count, (void *)&calls);
    for (int round = 1; round <= 20; round++) {
        pthread_t thread = start_thread(arm_from_here, timer);
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) == kRLRunLoopRunStopped);
        join_thread(thread);
        require(calls == round);
    }
    drop_timer(timer);
}
END_TEST

static void check_info_is_held(UNUSED RLRunLoopTimerRef timer, void *info)
{
    require(lifetime_held(info) >= 1);
    note("called");
}

START_TEST(a_rearmable_timer_holds_its_info_until_it_is_invalidated)
{
    struct lifetime life = {0};
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateRearmable(NULL, check_info_is_held, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopTimerSetTolerance(timer, 7); /* there is no interval that limits it */
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(timer), 7);
    RLRunLoopTimerSetNextFireDelay(timer, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("called");
    ck_assert_int_eq(lifetime_held(&life), 1);
    drop_timer(timer);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Misuse -- */

START_TEST(misuse_of_delays_and_rearmable_timers_is_reported)
{
    ck_assert_ptr_null(RLRunLoopTimerCreateRearmable(NULL, NULL, NULL));
    assert_misuse("RLRunLoopTimerCreateRearmable", "callout", NULL);
    ck_assert_ptr_null(RLRunLoopTimerCreateWithDelay(NULL, 1, 0, NULL, NULL));
    assert_misuse("RLRunLoopTimerCreateWithDelay", "callout", NULL);
    ck_assert_ptr_null(RLRunLoopTimerCreateWithDelay(NULL, NAN, 0, count_timer, NULL));
    assert_misuse("RLRunLoopTimerCreateWithDelay", "delay", NULL);
    ck_assert_ptr_null(RLRunLoopTimerCreateWithDelay(NULL, 1, NAN, count_timer, NULL));
    assert_misuse("RLRunLoopTimerCreateWithDelay", "interval", NULL);
    RLRunLoopTimerContext context = {.version = 1};
    ck_assert_ptr_null(RLRunLoopTimerCreateWithDelay(NULL, 1, 0, count_timer, &context));
    assert_misuse("RLRunLoopTimerCreateWithDelay", "context", NULL);
    ck_assert_ptr_null(RLRunLoopTimerCreateRearmable(NULL, count_timer, &context));
    assert_misuse("RLRunLoopTimerCreateRearmable", "context", NULL);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateRearmable(NULL, count_timer, NULL);
    RLRunLoopTimerSetNextFireDelay(timer, NAN);
    assert_misuse("RLRunLoopTimerSetNextFireDelay", "delay", NULL);
    ck_assert(is_disarmed(timer));
    drop_timer(timer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-armed-again");
    TCase *tcase = add_case(suite, "armed-again", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_delayed_timer_never_fires_early);
    tcase_add_test(tcase, a_delayed_timer_repeats_if_it_has_an_interval);
    tcase_add_test(tcase, a_negative_delay_fires_in_the_next_pass_and_an_infinite_one_never);
    tcase_add_test(tcase, a_rearmable_timer_waits_to_be_armed_and_keeps_its_mode_running);
    tcase_add_test(tcase, a_rearmable_timer_is_called_once_each_time_it_is_armed);
    tcase_add_test(tcase, a_timer_armed_again_before_it_is_due_is_called_once);
    tcase_add_test(tcase, a_rearmable_timer_may_arm_itself_in_its_callback);
    tcase_add_test(tcase, a_rearmable_timer_is_armed_by_another_thread_while_the_loop_sleeps);
    tcase_add_test(tcase, a_rearmable_timer_holds_its_info_until_it_is_invalidated);
    tcase_add_test(tcase, misuse_of_delays_and_rearmable_timers_is_reported);
    return suite;
}
