/* Checks timers and observers that move to another loop while their callback runs: in the meantime that loop may end, the item
 * may be changed or invalidated, and the callback's own thread may end. */
#include "harness.h"

static RLRunLoopRef rl;
static struct looper other;
static struct lifetime life;
static RLRunLoopTimerRef timer;
static RLRunLoopObserverRef observer;
static atomic_int calls, fired_in_other;

static void use_two_loops(void)
{
    rl = RLRunLoopGetCurrent();
    looper_start(&other);
}

static void make_repeating(RLRunLoopTimerCallBack callout)
{
    RLRunLoopTimerContext context = {.info = &life, .release = lifetime_release};
    timer = RLRunLoopTimerCreate(NULL, 0, 1e-3, 0, 0, callout, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
}

static void move_timer(RLRunLoopRef from, RLRunLoopRef to)
{
    RLRunLoopRemoveTimer(from, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(to, timer, kRLRunLoopDefaultMode);
    require(RLRunLoopContainsTimer(to, timer, kRLRunLoopDefaultMode));
}

static void make_watcher(RLRunLoopObserverCallBack callout)
{
    RLRunLoopObserverContext context = {.info = &life, .release = lifetime_release};
    observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, callout, &context);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
}

static void move_observer(RLRunLoopRef from, RLRunLoopRef to)
{
    RLRunLoopRemoveObserver(from, observer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(to, observer, kRLRunLoopDefaultMode);
    require(RLRunLoopContainsObserver(to, observer, kRLRunLoopDefaultMode));
}

/* Makes one pass of a loop. A timer that is not due keeps the mode from being empty. */
static void run_once(void)
{
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &calls);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), keeper, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    drop_timer(keeper);
}

/* -- The new loop's thread ends -- */

static void move_to_loop_that_ends(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    if (++calls > 1)
        return;
    move_timer(rl, other.loop);
    looper_stop(&other);
}

START_TEST(a_timer_whose_new_loop_ends_during_its_callback_is_in_no_loop)
{
    make_repeating(move_to_loop_that_ends);
    run_once();
    ck_assert_int_eq(calls, 1);
    ck_assert(RLRunLoopTimerIsValid(timer));
    RLRunLoopTimerSetNextFireDate(timer, 0);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    run_once();
    ck_assert_int_eq(calls, 2);
    drop_timer(timer);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

static void move_observer_to_loop_that_ends(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity,
                                            UNUSED void *info)
{
    if (++calls > 1)
        return;
    move_observer(rl, other.loop);
    looper_stop(&other);
}

START_TEST(an_observer_whose_new_loop_ends_during_its_callback_is_in_no_loop)
{
    make_watcher(move_observer_to_loop_that_ends);
    run_once();
    ck_assert_int_eq(calls, 1);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    run_once();
    ck_assert_int_eq(calls, 2);
    drop_observer(observer);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

/* -- The new loop's thread invalidates the item -- */

static void invalidate_timer(UNUSED void *info) { RLRunLoopTimerInvalidate(timer); }
static void invalidate_observer(UNUSED void *info) { RLRunLoopObserverInvalidate(observer); }

static void on_other_thread(void (*function)(void *))
{
    require(RLRunLoopPerformFunctionAndWait(other.loop, kRLRunLoopDefaultMode, function, NULL, 1e9));
}

static void be_invalidated_by_new_owner(UNUSED RLRunLoopTimerRef own, void *info)
{
    calls++;
    move_timer(rl, other.loop);
    on_other_thread(invalidate_timer);
    require(!RLRunLoopTimerIsValid(timer));
    require(((struct lifetime *)info)->releases == 0); /* still in use */
}

START_TEST(the_info_of_a_timer_that_its_new_loop_invalidates_lives_until_the_callback_returns)
{
    make_repeating(be_invalidated_by_new_owner);
    run_once();
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(life.releases, 1);
    RLRelease(timer);
    looper_stop(&other);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

static void be_invalidated_by_new_owner_too(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity,
                                            void *info)
{
    calls++;
    move_observer(rl, other.loop);
    on_other_thread(invalidate_observer);
    require(((struct lifetime *)info)->releases == 0);
}

START_TEST(the_info_of_an_observer_that_its_new_loop_invalidates_lives_until_the_callback_returns)
{
    make_watcher(be_invalidated_by_new_owner_too);
    run_once();
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(life.releases, 1);
    RLRelease(observer);
    looper_stop(&other);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

/* There and back: the timer belongs to its first loop again, and if another thread invalidates it, the release must wait for the
 * callback again. */
static void go_and_come_back(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    if (++calls > 1)
        return;
    move_timer(rl, other.loop);
    move_timer(other.loop, rl);
    on_other_thread(invalidate_timer);
    require(life.releases == 0);
}

START_TEST(the_info_of_a_timer_that_moved_away_and_back_lives_until_the_callback_returns)
{
    make_repeating(go_and_come_back);
    run_once();
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(life.releases, 1);
    RLRelease(timer);
    looper_stop(&other);
}
END_TEST

/* -- The item is changed in the new loop -- */

static void change_there(UNUSED void *info)
{
    RLRunLoopTimerSetTolerance(timer, 1e-4);
    RLRunLoopAddTimer(other.loop, timer, RLSTR("second"));
    RLRunLoopTimerSetNextFireDate(timer, 0);
    RLRunLoopRemoveTimer(other.loop, timer, RLSTR("second"));
}

static void move_once(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    if (RLRunLoopGetCurrent() == other.loop) {
        fired_in_other++;
        return;
    }
    calls++;
    move_timer(rl, other.loop);
    on_other_thread(change_there);
    on_other_thread(do_nothing); /* a pass in which it could fire */
    require(fired_in_other == 0);
}

START_TEST(a_timer_that_moved_during_its_callback_fires_in_the_new_loop_after_it)
{
    make_repeating(move_once);
    run_once();
    ck_assert_int_eq(calls, 1);
    await_count(&fired_in_other, 2);
    looper_stop(&other);
    drop_timer(timer);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

/* -- The callback's thread ends -- */

static void move_and_end(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    if (RLRunLoopGetCurrent() == rl) {
        calls++;
        return;
    }
    move_timer(RLRunLoopGetCurrent(), rl);
    pthread_exit(NULL);
}

static void *run_timer(UNUSED void *info)
{
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    return NULL;
}

START_TEST(a_timer_that_moved_in_a_callback_that_ends_its_thread_fires_in_the_new_loop)
{
    make_repeating(move_and_end);
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
    join_thread(start_thread(run_timer, NULL));
    ck_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    while (calls < 2)
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, false), kRLRunLoopRunTimedOut);
    drop_timer(timer);
    ck_assert_int_eq(life.releases, 1);
    looper_stop(&other);
}
END_TEST

START_TEST(a_one_shot_timer_counts_as_fired_if_its_callback_ends_the_thread)
{
    RLRunLoopTimerContext context = {.info = &life, .release = lifetime_release};
    timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, move_and_end, &context);
    join_thread(start_thread(run_timer, NULL));
    ck_assert(!RLRunLoopTimerIsValid(timer));
    ck_assert_int_eq(life.releases, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false), kRLRunLoopRunFinished);
    ck_assert_int_eq(calls, 0);
    RLRelease(timer);
    looper_stop(&other);
}
END_TEST

static void move_observer_and_end(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    if (RLRunLoopGetCurrent() == rl) {
        calls++;
        return;
    }
    move_observer(RLRunLoopGetCurrent(), rl);
    pthread_exit(NULL);
}

static void *run_observer(UNUSED void *info)
{
    RLRunLoopRemoveObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    run_once();
    return NULL;
}

START_TEST(an_observer_that_moved_in_a_callback_that_ends_its_thread_is_called_in_the_new_loop)
{
    make_watcher(move_observer_and_end);
    join_thread(start_thread(run_observer, NULL));
    run_once();
    ck_assert_int_eq(calls, 1);
    drop_observer(observer);
    ck_assert_int_eq(life.releases, 1);
    looper_stop(&other);
}
END_TEST

/* -- The item is the last one in the new loop's mode -- */

static void move_and_leave_alone(RLRunLoopTimerRef own, UNUSED void *info)
{
    calls++;
    RLRunLoopRemoveTimer(rl, own, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(other.loop, own, kRLRunLoopDefaultMode);
    RLRunLoopSourceInvalidate(other.keeper);
    /* The other loop has noticed that the keeper is gone, and sleeps without a time limit. */
    on_other_thread(do_nothing);
    await_waiting(other.loop);
}

static void move_and_end_thread(RLRunLoopTimerRef own, void *info)
{
    move_and_leave_alone(own, info);
    pthread_exit(NULL);
}

static const RLRunLoopTimerContext contexts[] = {
    {.info = &life}, {.info = &life, .release = lifetime_release}, {.info = &life, .retain = lifetime_retain}};

static void *fire_one_shot(void *context)
{
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef one = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, move_and_leave_alone, context);
    RLRunLoopAddTimer(rl, one, kRLRunLoopDefaultMode);
    RLRelease(one);
    run_once();
    return NULL;
}

static void *fire_one_shot_that_ends_thread(UNUSED void *context)
{
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef one = make_timer(0, 0, move_and_end_thread, NULL);
    RLRunLoopAddTimer(rl, one, kRLRunLoopDefaultMode);
    RLRelease(one);
    RLRunLoopRun();
    return NULL;
}

START_TEST(a_run_ends_when_the_one_shot_timer_moved_into_it_has_fired)
{
    looper_stop(&other);
    for (int i = 0; i < 4; i++) {
        looper_start(&other);
        join_thread(start_thread(i < 3 ? fire_one_shot : fire_one_shot_that_ends_thread, (void *)&contexts[i % 3]));
        join_thread(other.thread); /* its run ends by itself */
        drop_source(other.keeper);
    }
    ck_assert_int_eq(calls, 4);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("item-moved-in-callback");
    TCase *tcase = add_case(suite, "moved", 30);
    tcase_add_checked_fixture(tcase, use_two_loops, NULL);
    tcase_add_test(tcase, a_timer_whose_new_loop_ends_during_its_callback_is_in_no_loop);
    tcase_add_test(tcase, an_observer_whose_new_loop_ends_during_its_callback_is_in_no_loop);
    tcase_add_test(tcase, the_info_of_a_timer_that_its_new_loop_invalidates_lives_until_the_callback_returns);
    tcase_add_test(tcase, the_info_of_an_observer_that_its_new_loop_invalidates_lives_until_the_callback_returns);
    tcase_add_test(tcase, the_info_of_a_timer_that_moved_away_and_back_lives_until_the_callback_returns);
    tcase_add_test(tcase, a_timer_that_moved_during_its_callback_fires_in_the_new_loop_after_it);
    tcase_add_test(tcase, a_timer_that_moved_in_a_callback_that_ends_its_thread_fires_in_the_new_loop);
    tcase_add_test(tcase, a_one_shot_timer_counts_as_fired_if_its_callback_ends_the_thread);
    tcase_add_test(tcase, a_run_ends_when_the_one_shot_timer_moved_into_it_has_fired);
    tcase_add_test(tcase, an_observer_that_moved_in_a_callback_that_ends_its_thread_is_called_in_the_new_loop);
    return suite;
}
