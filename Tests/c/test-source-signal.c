/* Checks version-0 sources: how a signal is kept, in which order sources perform, and what callbacks may do to a batch. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static void note_info(void *info) { note(info); }

static RLRunLoopSourceRef add_source(RLIndex order, void (*perform)(void *), void *info)
{
    RLRunLoopSourceRef source = make_source(order, perform, info);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    return source;
}

static void run_once(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

START_TEST(a_signal_is_sticky_and_two_are_one)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
    ck_assert(!RLRunLoopSourceIsSignalled(source));
    RLRunLoopSourceSignal(source); /* before it is in any loop */
    RLRunLoopSourceSignal(source);
    ck_assert(RLRunLoopSourceIsSignalled(source));
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    run_once();
    run_once();
    ck_assert_int_eq(performed, 1);
    ck_assert(!RLRunLoopSourceIsSignalled(source));
    drop_source(source);
}
END_TEST

static void signal_info(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    RLRunLoopSourceSignal(info);
}

START_TEST(a_signal_alone_does_not_wake_a_sleeping_loop)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = add_source(0, count_perform, &performed);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 0, signal_info, source);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(performed, 0);
    ck_assert(RLRunLoopSourceIsSignalled(source));
    drop_observer(observer);
    drop_source(source);
}
END_TEST

static void signal_and_wake(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    RLRunLoopSourceSignal(info);
    RLRunLoopWakeUp(rl);
}

START_TEST(a_signal_with_a_wake_up_before_waiting_prevents_the_sleep)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = add_source(0, count_perform, &performed);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 0, signal_and_wake, source);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(performed, 1);
    drop_observer(observer);
    drop_source(source);
}
END_TEST

START_TEST(of_two_modes_the_first_to_run_takes_the_signal)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = add_source(0, count_perform, &performed);
    RLRunLoopAddSource(rl, source, RLSTR("other"));
    RLRunLoopSourceSignal(source);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    ck_assert_int_eq(performed, 1);
    run_once();
    ck_assert_int_eq(performed, 1);
    drop_source(source);
}
END_TEST

START_TEST(sources_of_lower_order_perform_first)
{
    RLRunLoopSourceRef sources[] = {add_source(1, note_info, "1"), add_source(INT64_MAX, note_info, "max"),
                                    add_source(INT64_MIN, note_info, "min"), add_source(0, note_info, "0"),
                                    add_source(-1, note_info, "-1")};
    ck_assert_int_eq(RLRunLoopSourceGetOrder(sources[1]), INT64_MAX);
    ck_assert_int_eq(RLRunLoopSourceGetOrder(sources[2]), INT64_MIN);
    for (int i = 0; i < 5; i++)
        RLRunLoopSourceSignal(sources[i]);
    run_once();
    assert_notes("min -1 0 1 max");
    for (int i = 0; i < 5; i++)
        drop_source(sources[i]);
}
END_TEST

static RLRunLoopSourceRef victim;

static void remove_victim(void *info)
{
    note(info);
    RLRunLoopRemoveSource(rl, victim, kRLRunLoopDefaultMode);
}

static void invalidate_victim(void *info)
{
    note(info);
    RLRunLoopSourceInvalidate(victim);
}

static void invalidate_and_release_victim(void *info)
{
    invalidate_victim(info);
    RLRelease(victim);
}

static void signal_victim(void *info)
{
    note(info);
    RLRunLoopSourceSignal(victim);
}

START_TEST(a_source_removed_by_an_earlier_one_of_the_batch_is_still_performed)
{
    RLRunLoopSourceRef first = add_source(1, remove_victim, "remover");
    victim = add_source(2, note_info, "victim");
    RLRunLoopSourceSignal(first);
    RLRunLoopSourceSignal(victim);
    run_once();
    assert_notes("remover victim");
    ck_assert(!RLRunLoopContainsSource(rl, victim, kRLRunLoopDefaultMode));
    drop_source(first);
    drop_source(victim);
}
END_TEST

START_TEST(a_source_invalidated_by_an_earlier_one_of_the_batch_is_not_performed)
{
    RLRunLoopSourceRef first = add_source(1, invalidate_victim, "invalidator"), last = add_source(3, note_info, "last");
    victim = add_source(2, note_info, "victim");
    RLRunLoopSourceSignal(first);
    RLRunLoopSourceSignal(victim);
    RLRunLoopSourceSignal(last);
    run_once();
    assert_notes("invalidator last");
    drop_source(first);
    drop_source(last);
    RLRelease(victim);
}
END_TEST

/* The batch has the last reference, so the object must live until the batch is done with it. */
START_TEST(a_source_released_by_an_earlier_one_of_the_batch_is_not_touched)
{
    RLRunLoopSourceRef first = add_source(1, invalidate_and_release_victim, "releaser"),
                       last = add_source(3, note_info, "last");
    victim = add_source(2, note_info, "victim");
    RLRunLoopSourceSignal(first);
    RLRunLoopSourceSignal(victim);
    RLRunLoopSourceSignal(last);
    run_once();
    assert_notes("releaser last");
    drop_source(first);
    drop_source(last);
}
END_TEST

START_TEST(a_source_signalled_by_an_earlier_one_of_the_batch_is_performed_in_the_next_pass)
{
    RLRunLoopSourceRef first = add_source(2, signal_victim, "signaller");
    victim = add_source(1, note_info, "victim");
    RLRunLoopSourceSignal(first);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("signaller");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("victim");
    drop_source(first);
    drop_source(victim);
}
END_TEST

static void add_victim(void *info)
{
    note(info);
    RLRunLoopAddSource(rl, victim, kRLRunLoopDefaultMode);
}

START_TEST(a_source_added_in_a_callback_waits_for_the_next_pass)
{
    RLRunLoopSourceRef first = add_source(1, add_victim, "adder"), last = add_source(3, note_info, "last");
    victim = make_source(2, note_info, "added");
    RLRunLoopSourceSignal(first);
    RLRunLoopSourceSignal(last);
    RLRunLoopSourceSignal(victim);
    run_once();
    assert_notes("adder last");
    run_once();
    assert_notes("added");
    drop_source(first);
    drop_source(last);
    drop_source(victim);
}
END_TEST

static void signal_self(void *info)
{
    if (atomic_fetch_add((atomic_int *)info, 1) < 2)
        RLRunLoopSourceSignal(victim);
    else
        RLRunLoopStop(rl);
}

START_TEST(a_source_that_signals_itself_performs_again_in_the_next_pass)
{
    atomic_int performed = 0;
    victim = add_source(0, signal_self, &performed);
    RLRunLoopSourceSignal(victim);
    run_once();
    ck_assert_int_eq(performed, 1);
    ck_assert(RLRunLoopSourceIsSignalled(victim));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(performed, 3);
    drop_source(victim);
}
END_TEST

START_TEST(one_of_ten_thousand_sources_is_performed_alone)
{
    enum { sources = SCALED(10000) };
    static RLRunLoopSourceRef all[sources];
    static atomic_int performed[sources];
    for (int i = 0; i < sources; i++)
        all[i] = add_source(i % 100, count_perform, &performed[i]);
    for (int i = 0; i < sources; i += sources / 10) {
        RLRunLoopSourceSignal(all[i]);
        run_once();
    }
    for (int i = 0; i < sources; i++)
        ck_assert(performed[i] == (i % (sources / 10) == 0));
    for (int i = 0; i < sources; i++)
        drop_source(all[i]);
}
END_TEST

START_TEST(adding_a_signalled_source_from_another_thread_wakes_the_loop)
{
    atomic_int performed = 0;
    struct looper looper;
    looper_start(&looper);
    RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
    RLRunLoopSourceSignal(source);
    await_waiting(looper.loop);
    RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode); /* without a wake-up */
    await_count(&performed, 1);
    looper_stop(&looper);
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-signal");
    TCase *tcase = add_case(suite, "signal", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_signal_is_sticky_and_two_are_one);
    tcase_add_test(tcase, a_signal_alone_does_not_wake_a_sleeping_loop);
    tcase_add_test(tcase, a_signal_with_a_wake_up_before_waiting_prevents_the_sleep);
    tcase_add_test(tcase, of_two_modes_the_first_to_run_takes_the_signal);
    tcase_add_test(tcase, sources_of_lower_order_perform_first);
    tcase_add_test(tcase, a_source_removed_by_an_earlier_one_of_the_batch_is_still_performed);
    tcase_add_test(tcase, a_source_invalidated_by_an_earlier_one_of_the_batch_is_not_performed);
    tcase_add_test(tcase, a_source_released_by_an_earlier_one_of_the_batch_is_not_touched);
    tcase_add_test(tcase, a_source_signalled_by_an_earlier_one_of_the_batch_is_performed_in_the_next_pass);
    tcase_add_test(tcase, a_source_added_in_a_callback_waits_for_the_next_pass);
    tcase_add_test(tcase, a_source_that_signals_itself_performs_again_in_the_next_pass);
    tcase_add_test(tcase, one_of_ten_thousand_sources_is_performed_alone);
    tcase_add_test(tcase, adding_a_signalled_source_from_another_thread_wakes_the_loop);
    return suite;
}
