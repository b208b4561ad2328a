/* Checks delayed functions with a release function: in every case, the release function is called exactly once. */
#include "harness.h"

enum { MANY = 40 };
static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static void note_info(void *info) { note(info); }
static bool later(RLRunLoopRef loop, RLRunLoopFunction function, void *info, RLTimeInterval delay,
                  RLRunLoopFunction release)
{
    return RLRunLoopPerformFunctionAfterDelayWithRelease(loop, kRLRunLoopDefaultMode, function, info, delay, release);
}

static void run_until_empty(void)
{
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
}

START_TEST(info_is_released_after_the_call)
{
    const void *names[] = {RLSTR("other"), kRLRunLoopDefaultMode};
    RLArrayRef modes = RLArrayCreate(NULL, names, 2, &kRLTypeArrayCallBacks);
    /* In the order of the delays: however much time passes between the calls, it is the order in which they are due. */
    ck_assert(later(rl, note_info, "0", 0, NULL));
    ck_assert(RLRunLoopPerformFunctionAfterDelayWithRelease(rl, modes, note_info, "1", 0.001, note_info));
    ck_assert(later(rl, note_info, "2", 0.002, note_info));
    run_until_empty();
    assert_notes("0 1 1 2 2");
    RLRelease(modes);
}
END_TEST

START_TEST(info_is_released_when_the_function_is_cancelled)
{
    struct lifetime life = {0}, other = {0};
    for (int i = 0; i < MANY; i++)
        ck_assert(later(rl, do_nothing, i % 2 ? &life : &other, 1e6, lifetime_end));
    ck_assert(later(rl, stop_current, &life, HUGE_VAL, lifetime_end));
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, do_nothing, &life), MANY / 2);
    ck_assert_int_eq(life.releases, MANY / 2);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &life), 1);
    ck_assert_int_eq(life.releases, MANY / 2 + 1);
    ck_assert_int_eq(other.releases, 0);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &other), MANY / 2);
    ck_assert_int_eq(other.releases, MANY / 2);
    run_until_empty();
}
END_TEST

static struct lifetime own;
static void cancel_itself(UNUSED void *info)
{
    require(RLRunLoopCancelPerformFunction(rl, NULL, &own) == 0);
    require(own.releases == 0);
}

static void run_again(UNUSED void *info)
{
    require(later(rl, do_nothing, &own, 0, lifetime_end));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    require(own.releases == 2); /* that of the first step of the test, and that of the function queued above */
}

START_TEST(a_function_that_is_running_is_released_when_it_returns)
{
    ck_assert(later(rl, cancel_itself, &own, 0, lifetime_end));
    run_until_empty();
    ck_assert_int_eq(own.releases, 1);
    ck_assert(later(rl, run_again, &own, 0, lifetime_end));
    run_until_empty();
    ck_assert_int_eq(own.releases, 3);
}
END_TEST

static void end_thread(UNUSED void *info) { pthread_exit(NULL); }
static RLRunLoopRef ended;

static void *end_before_the_date(void *life)
{
    ended = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    for (int i = 0; i < MANY; i++)
        require(later(ended, do_nothing, life, i % 2 ? 1e6 : HUGE_VAL, lifetime_end));
    return NULL;
}

static void *end_in_the_function(void *life)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    require(later(loop, end_thread, life, 0, lifetime_end) && later(loop, do_nothing, life, 0, lifetime_end));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0);
    return NULL; /* not reached */
}

static void *end_in_the_release_function(void *life)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    require(later(loop, do_nothing, life, 0, end_thread) && later(loop, do_nothing, life, 0, lifetime_end));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0);
    return NULL; /* not reached */
}

START_TEST(info_is_released_when_the_thread_ends)
{
    struct lifetime life = {0};
    join_thread(start_thread(end_before_the_date, &life));
    ck_assert_int_eq(life.releases, MANY);
    join_thread(start_thread(end_in_the_function, &life));
    ck_assert_int_eq(life.releases, MANY + 2);
    join_thread(start_thread(end_in_the_release_function, &life));
    ck_assert_int_eq(life.releases, MANY + 3);
}
END_TEST

START_TEST(info_is_not_released_if_the_function_is_not_queued)
{
    struct lifetime life = {0};
    join_thread(start_thread(end_before_the_date, &life));
    errno = 0;
    ck_assert(!later(ended, do_nothing, &life, 0, lifetime_end) && errno == ESRCH);
    ck_assert(!later(ended, do_nothing, &life, 0, NULL) && errno == ESRCH);
    ck_assert_int_eq(life.releases, MANY);
    RLRelease(ended);
}
END_TEST

static atomic_int released;
static void abort_on_call(UNUSED void *info) { abort(); }
static void release_and_end_first(UNUSED void *info)
{
    if (++released == 1)
        pthread_exit(NULL);
}

static void *cancel_on_another_thread(void *loop)
{
    RLRunLoopCancelPerformFunction(loop, NULL, &released);
    return NULL; /* not reached */
}

/* The other functions are cancelled nevertheless. Their info is released when the loop's own thread exits. */
START_TEST(a_release_function_may_end_the_thread_that_cancels)
{
    struct looper looper;
    looper_start(&looper);
    for (int i = 0; i < MANY; i++)
        ck_assert(later(looper.loop, abort_on_call, &released, 1e6, release_and_end_first));
    join_thread(start_thread(cancel_on_another_thread, looper.loop));
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(looper.loop, NULL, &released), 0);
    ck_assert_int_eq(released, 1);
    looper_stop(&looper);
    ck_assert_int_eq(released, MANY);
}
END_TEST

static RLRunLoopRef shared;
static struct lifetime raced;
static void *cancel_often(void *info)
{
    for (int i = 0; i < 2000; i++) {
        if (info == NULL)
            RLRunLoopCancelPerformFunction(shared, NULL, &raced);
        else
            require(later(shared, do_nothing, &raced, i % 3 * 1e-5, lifetime_end));
    }
    return NULL;
}

START_TEST(info_is_released_once_if_calls_and_cancellations_race)
{
    struct looper looper;
    looper_start(&looper);
    shared = looper.loop;
    on_threads(3, cancel_often); /* one cancels, two queue */
    looper_stop(&looper);
    ck_assert_int_eq(raced.releases, 4000);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-delayed");
    TCase *tcase = add_case(suite, "release", 30);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, info_is_released_after_the_call);
    tcase_add_test(tcase, info_is_released_when_the_function_is_cancelled);
    tcase_add_test(tcase, a_function_that_is_running_is_released_when_it_returns);
    tcase_add_test(tcase, info_is_released_when_the_thread_ends);
    tcase_add_test(tcase, info_is_not_released_if_the_function_is_not_queued);
    tcase_add_test(tcase, a_release_function_may_end_the_thread_that_cancels);
    tcase_add_test(tcase, info_is_released_once_if_calls_and_cancellations_race);
    return suite;
}
