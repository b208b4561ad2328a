/* Checks queued functions that are cancelled at delicate moments: by a function of the same batch, by a release function of a
 * loop that ends, after a refused request, and by a thread that ends while it cancels. */
#include "harness.h"

#include <sched.h>

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

/* -- While a batch runs -- */

static int token;
static RLIndex cancelled;
static atomic_int ran;

static void cancel_token(UNUSED void *info) { cancelled += RLRunLoopCancelPerformFunction(rl, NULL, &token); }

/* All are taken in one batch, after the timers. The first is put back, because it is for another mode. */
static void queue_for_two_modes(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    ck_assert(RLRunLoopPerformFunction(rl, RLSTR("other"), count_perform, &token));
    ck_assert(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, cancel_token, NULL));
    ck_assert(RLRunLoopPerformFunction(rl, RLSTR("other"), count_perform, &ran));
}

START_TEST(a_function_requeued_for_another_mode_can_be_cancelled_in_its_batch)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, queue_for_two_modes, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(cancelled, 1);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    ck_assert_int_eq(token, 0);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 0, 0), kRLRunLoopRunFinished); /* nothing is left in the mode */
    drop_timer(timer);
}
END_TEST

/* -- Delayed -- */

START_TEST(a_delayed_function_without_modes_is_refused)
{
    RLArrayRef none = RLArrayCreate(NULL, NULL, 0, &kRLTypeArrayCallBacks);
    errno = 0;
    ck_assert(!RLRunLoopPerformFunctionAfterDelay(rl, none, count_perform, &ran, 1e6));
    ck_assert_int_eq(errno, EINVAL);
    assert_misuse("RLRunLoopPerformFunctionAfterDelay", "modes", NULL);
    for (int i = 0; i < 3; i++)
        ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, count_perform, &ran, 1e6));
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &ran), 3);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &ran), 0);
    RLRelease(none);
}
END_TEST

enum { DELAYED = 5 };
static RLRunLoopRef ending;
static atomic_int released;

static void cancel_while_ending(UNUSED void *info)
{
    RLIndex count = RLRunLoopCancelPerformFunction(ending, NULL, &token);
    require(count >= 0 && count <= DELAYED);
    require(RLRunLoopCancelPerformFunction(ending, NULL, &token) == 0);
    released++;
}

static void *end_with_delayed_functions(UNUSED void *info)
{
    ending = RLRunLoopGetCurrent();
    for (int i = 0; i < DELAYED; i++)
        require(RLRunLoopPerformFunctionAfterDelay(ending, kRLRunLoopDefaultMode, do_nothing, &token, 1e6));
    require(RLRunLoopPerformFunctionWithRelease(ending, kRLRunLoopDefaultMode, do_nothing, NULL, cancel_while_ending));
    return NULL;
}

START_TEST(a_release_function_may_cancel_delayed_functions_of_its_ending_loop)
{
    for (int round = 0; round < 20; round++)
        join_thread(start_thread(end_with_delayed_functions, NULL));
    ck_assert_int_eq(released, 20);
}
END_TEST

/* -- A release function ends the thread that cancels -- */

static void release_and_end_first(UNUSED void *info)
{
    if (++released == 1)
        pthread_exit(NULL);
}

static void *cancel_on_this_loop(UNUSED void *info)
{
    RLRunLoopRef own = RLRunLoopGetCurrent();
    for (int i = 0; i < 100; i++)
        require(RLRunLoopPerformFunctionWithRelease(own, RLSTR("other"), do_nothing, &token, release_and_end_first));
    RLRunLoopCancelPerformFunction(own, NULL, &token);
    return NULL; /* not reached */
}

START_TEST(a_release_function_that_ends_the_thread_does_not_skip_the_others)
{
    join_thread(start_thread(cancel_on_this_loop, NULL));
    ck_assert_int_eq(released, 100);
}
END_TEST

static void *cancel_on_another_loop(void *loop)
{
    RLRunLoopCancelPerformFunction(loop, NULL, &token);
    return NULL; /* not reached */
}

START_TEST(cancelled_functions_do_not_run_if_a_release_function_ends_the_cancelling_thread)
{
    for (int i = 0; i < 100; i++)
        ck_assert(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, count_perform, &token,
                                                      release_and_end_first));
    for (int i = 0; i < 3; i++)
        ck_assert(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, count_perform, &token, 0));
    join_thread(start_thread(cancel_on_another_loop, rl));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(token, 0);
    ck_assert_int_eq(released, 1);
}
END_TEST

static void *wait_for_function(void *loop)
{
    require(!RLRunLoopPerformFunctionAndWait(loop, RLSTR("waited for"), do_nothing, &token, 1e9));
    require(errno == ECANCELED);
    return NULL;
}

static bool has_mode(RLRunLoopRef loop, RLRunLoopMode mode)
{
    RLArrayRef modes = RLRunLoopCopyAllModes(loop);
    bool has = RLArrayContainsValue(modes, (RLRange){0, RLArrayGetCount(modes)}, mode);
    RLRelease(modes);
    return has;
}

START_TEST(a_release_function_that_ends_the_cancelling_thread_leaves_no_thread_waiting)
{
    struct looper looper;
    looper_start(&looper);
    for (int i = 0; i < 100; i++)
        ck_assert(RLRunLoopPerformFunctionWithRelease(looper.loop, RLSTR("other"), do_nothing, &token,
                                                      release_and_end_first));
    pthread_t waiting = start_thread(wait_for_function, looper.loop);
    while (!has_mode(looper.loop, RLSTR("waited for")))
        sched_yield();
    join_thread(start_thread(cancel_on_another_loop, looper.loop));
    join_thread(waiting);
    looper_stop(&looper); /* the loop calls the release functions that are left */
    ck_assert_int_eq(released, 100);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-cancelled");
    TCase *tcase = add_case(suite, "cancelled", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_function_requeued_for_another_mode_can_be_cancelled_in_its_batch);
    tcase_add_test(tcase, a_delayed_function_without_modes_is_refused);
    tcase_add_test(tcase, a_release_function_may_cancel_delayed_functions_of_its_ending_loop);
    tcase_add_test(tcase, a_release_function_that_ends_the_thread_does_not_skip_the_others);
    tcase_add_test(tcase, cancelled_functions_do_not_run_if_a_release_function_ends_the_cancelling_thread);
    tcase_add_test(tcase, a_release_function_that_ends_the_cancelling_thread_leaves_no_thread_waiting);
    return suite;
}
