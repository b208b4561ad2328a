/* Checks the timers of a guest loop: a timer that is added while the host waits makes the host's descriptor readable, and no
 * timer is forgotten, whichever mode the host waits for. */
#include "guest.h"

static RLRunLoopRef rl;
static RLRunLoopTimerRef due, far;
static atomic_int calls;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    due = make_timer(RLAbsoluteTimeGetCurrent() - 1, 0, count_timer, &calls);
    far = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, &calls);
}

static void tear_down(void)
{
    drop_timer(due);
    drop_timer(far);
}

static void add(RLRunLoopTimerRef timer) { RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode); }
static double next_date(void) { return RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode); }

static void prepare_for(RLStringRef mode) { require(RLRunLoopPrepareGuest(mode, 0, &state) == 1); }

/* -- What is added while the host waits -------------------------------------------------------------------------------- */

/* Leaves the mode as one that has had a timer before. */
static void add_and_remove(RLRunLoopTimerRef timer)
{
    add(timer);
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
}

START_TEST(adding_a_timer_wakes_the_host_after_a_query_of_the_next_date)
{
    add_and_remove(far);
    prepare();
    ck_assert(next_date() == 0);
    add(far);
    ck_assert(readable());
}
END_TEST

START_TEST(adding_a_timer_wakes_the_host_after_an_idle_query)
{
    add_and_remove(far);
    prepare();
    ck_assert(RLRunLoopIsIdleInMode(kRLRunLoopDefaultMode));
    add(far);
    ck_assert(readable());
}
END_TEST

START_TEST(adding_a_timer_wakes_the_host_despite_a_timer_that_is_never_due)
{
    prepare();
    RLRunLoopTimerSetNextFireDate(due, INFINITY);
    add(due);
    add(far);
    ck_assert(readable());
}
END_TEST

START_TEST(adding_a_timer_wakes_the_host_if_the_others_are_unreferenced)
{
    RLRunLoopTimerSetKeepsModeRunning(due, 0);
    add(due);
    prepare(); /* the mode counts as empty, so the host waits without limit */
    ck_assert(!readable());
    add(far);
    ck_assert(readable());
    dispatch();
    ck_assert_int_eq(calls, 1);
}
END_TEST

/* -- Timers that were added before ---------------------------------------------------------------------------------------- */

/* A timer that was ignored when the host prepared to wait is still the first when a later one is added. */
static void due_fires_before_far(void)
{
    add(far);
    ck_assert(next_date() == RLRunLoopTimerGetNextFireDate(due));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 1);
    ck_assert(next_date() == RLRunLoopTimerGetNextFireDate(far));
}

START_TEST(a_timer_fires_by_date_after_a_host_waited_for_another_mode)
{
    add(due);
    prepare_for(RLSTR("other"));
    RLRunLoopLeaveGuest();
    due_fires_before_far();
}
END_TEST

START_TEST(a_timer_fires_by_date_after_a_host_waited_for_an_empty_mode)
{
    RLRunLoopTimerSetKeepsModeRunning(due, 0);
    add(due);
    prepare();
    RLRunLoopLeaveGuest();
    due_fires_before_far();
}
END_TEST

START_TEST(a_timer_fires_by_date_while_a_host_waits_for_another_mode)
{
    add(due);
    prepare_for(RLSTR("other"));
    due_fires_before_far();
    RLRunLoopLeaveGuest();
}
END_TEST

/* -- The thread ends while the host waits -------------------------------------------------------------------------------- */

static void *end_while_host_waits(void *timers)
{
    RLRunLoopRef own = RLRunLoopGetCurrent();
    RLRunLoopAddTimer(own, ((RLRunLoopTimerRef *)timers)[0], kRLRunLoopDefaultMode);
    RLRunLoopGuestState its = {.version = 0};
    require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &its) == 1);
    return NULL;
}

static void *add_and_cancel(void *timers)
{
    RLRunLoopTimerRef another = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), another, kRLRunLoopDefaultMode);
    require(RLRunLoopContainsTimer(RLRunLoopGetCurrent(), another, kRLRunLoopDefaultMode));
    require(!RLRunLoopContainsTimer(RLRunLoopGetCurrent(), ((RLRunLoopTimerRef *)timers)[0], kRLRunLoopDefaultMode));
    drop_timer(another);
    return NULL;
}

/* The loop of the second thread reuses the memory of the first thread's loop. */
START_TEST(a_loop_in_reused_memory_inherits_no_host_wait)
{
    for (int round = 0; round < 3; round++) {
        join_thread(start_thread(end_while_host_waits, &far));
        join_thread(start_thread(add_and_cancel, &far));
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("guest-timers");
    TCase *tcase = add_case(suite, "guest-timers", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, adding_a_timer_wakes_the_host_after_a_query_of_the_next_date);
    tcase_add_test(tcase, adding_a_timer_wakes_the_host_after_an_idle_query);
    tcase_add_test(tcase, adding_a_timer_wakes_the_host_despite_a_timer_that_is_never_due);
    tcase_add_test(tcase, adding_a_timer_wakes_the_host_if_the_others_are_unreferenced);
    tcase_add_test(tcase, a_timer_fires_by_date_after_a_host_waited_for_another_mode);
    tcase_add_test(tcase, a_timer_fires_by_date_after_a_host_waited_for_an_empty_mode);
    tcase_add_test(tcase, a_timer_fires_by_date_while_a_host_waits_for_another_mode);
    tcase_add_test(tcase, a_loop_in_reused_memory_inherits_no_host_wait);
    return suite;
}
