/* Checks functions that wait for other modes than the one that runs: they need not be examined again until something changes. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static void note_info(void *info) { note(info); }
static void queue(RLTypeRef modes, const char *word)
{
    ck_assert(RLRunLoopPerformFunction(rl, modes, note_info, (void *)word));
}

static RLRunLoopSourceRef ticker;
static void tick_in_late_mode(void *info)
{
    int *tick = info;
    note("tick");
    if (++*tick == 3)
        RLRunLoopAddCommonMode(rl, RLSTR("late"));
    RLRunLoopSourceSignal(ticker);
    if (*tick == 5)
        RLRunLoopStop(rl);
}

START_TEST(functions_held_for_other_modes_run_once_those_modes_run)
{
    int ticks = 0;
    ticker = make_source(0, tick_in_late_mode, &ticks);
    RLRunLoopAddSource(rl, ticker, RLSTR("late"));
    RLRunLoopSourceSignal(ticker);
    queue(kRLRunLoopCommonModes, "common");
    queue(RLSTR("other"), "other");
    RLRunLoopRunInMode(RLSTR("late"), 1e9, 0);
    assert_notes("tick tick tick common tick tick");
    queue(RLSTR("other"), "last");
    RLRunLoopRunInMode(RLSTR("late"), 0, 0);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    assert_notes("tick other last");
    drop_source(ticker);
}
END_TEST

static void tick_until_it_is_enough(void *info)
{
    int *left = info;
    RLRunLoopSourceSignal(ticker);
    if (--*left == 0)
        RLRunLoopStop(rl);
}

/* If each pass looked at all functions, these would be 900 million looks, which take longer than the time limit. */
START_TEST(a_pass_does_not_look_at_functions_held_for_other_modes)
{
    enum { FUNCTIONS = 30000 };
    int left = FUNCTIONS, calls = 0;
    ticker = make_source(0, tick_until_it_is_enough, &left);
    RLRunLoopAddSource(rl, ticker, RLSTR("late"));
    for (int i = 0; i < FUNCTIONS; i++)
        ck_assert(RLRunLoopPerformFunction(rl, RLSTR("other"), count_perform, &calls));
    RLRunLoopSourceSignal(ticker);
    RLRunLoopRunInMode(RLSTR("late"), 1e9, 0);
    ck_assert_int_eq(left, 0);
    ck_assert_int_eq(calls, 0);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    ck_assert_int_eq(calls, FUNCTIONS);
    drop_source(ticker);
}
END_TEST

static void run_other_mode(UNUSED void *info)
{
    queue(RLSTR("other"), "inner");
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
}

static void queue_for_last_step(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    queue(RLSTR("other"), "before");
    ck_assert(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, run_other_mode, NULL));
    queue(RLSTR("other"), "behind");
}

/* Queued for the last step of the pass, so that the outer run does not look for functions again. */
START_TEST(a_nested_run_leaves_the_functions_of_the_outer_batch)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, queue_for_last_step, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("inner");
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    assert_notes("before behind");
    drop_timer(timer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-held");
    TCase *tcase = add_case(suite, "held functions", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, functions_held_for_other_modes_run_once_those_modes_run);
    tcase_add_test(tcase, a_pass_does_not_look_at_functions_held_for_other_modes);
    tcase_add_test(tcase, a_nested_run_leaves_the_functions_of_the_outer_batch);
    return suite;
}
