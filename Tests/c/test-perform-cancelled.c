/* Requests that are cancelled at delicate moments: by a function of the same batch, by a release function of a loop that
 * ends, and after a request that was refused. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

/* -- While a batch runs -- */

static int token;
static RLIndex cancelled;
static atomic_int ran;

static void cancel_token(UNUSED void *info) { cancelled += RLRunLoopCancelPerformFunction(rl, NULL, &token); }

/* Both are taken in one batch, behind the timers: the first is put back, for it is for another mode. */
static void queue_for_two_modes(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    ck_assert(RLRunLoopPerformFunction(rl, RLSTR("other"), count_perform, &token));
    ck_assert(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, cancel_token, NULL));
    ck_assert(RLRunLoopPerformFunction(rl, RLSTR("other"), count_perform, &ran));
}

START_TEST(a_request_put_back_for_another_mode_can_be_cancelled_by_its_batch)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, queue_for_two_modes, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(cancelled, 1);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    ck_assert_int_eq(token, 0);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 0, 0), kRLRunLoopRunFinished); /* nothing is left in it */
    drop_timer(timer);
}
END_TEST

/* -- Delayed -- */

START_TEST(a_delayed_function_in_no_mode_is_refused_and_leaves_nothing)
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

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-cancelled");
    TCase *tcase = add_case(suite, "cancelled", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_request_put_back_for_another_mode_can_be_cancelled_by_its_batch);
    tcase_add_test(tcase, a_delayed_function_in_no_mode_is_refused_and_leaves_nothing);
    tcase_add_test(tcase, a_release_function_may_cancel_delayed_functions_of_its_ending_loop);
    return suite;
}
