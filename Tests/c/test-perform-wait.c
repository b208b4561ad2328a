/* Checks RLRunLoopPerformFunctionAndWait(): its results, its time limit, and what ends the wait. */
#include "harness.h"

#include <sched.h>

static struct looper looper;
static void start_looper(void) { looper_start(&looper); }
static void stop_looper(void) { looper_stop(&looper); }

struct question {
    pthread_t ran_on;
    int plain; /* not atomic: AndWait itself must make it visible */
};

static void answer(void *info)
{
    struct question *question = info;
    question->ran_on = pthread_self();
    question->plain++;
}

static bool ask(struct question *question, double timeout)
{
    return RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, answer, question, timeout);
}

START_TEST(the_function_runs_on_the_loops_thread_and_its_writes_are_visible)
{
    static const double timeouts[] = {3600, 1e10, 1e300, HUGE_VAL};
    for (int i = 0; i < 4; i++) {
        struct question question = {0};
        ck_assert(ask(&question, timeouts[i]));
        ck_assert_int_eq(question.plain, 1);
        ck_assert(pthread_equal(question.ran_on, looper.thread));
    }
}
END_TEST

START_TEST(on_the_loops_thread_the_function_is_called_at_once_whatever_mode_and_timeout)
{
    struct question question = {0};
    static const double timeouts[] = {-1, 0, HUGE_VAL};
    for (int i = 0; i < 3; i++)
        ck_assert(
            RLRunLoopPerformFunctionAndWait(RLRunLoopGetCurrent(), RLSTR("never run"), answer, &question, timeouts[i]));
    ck_assert_int_eq(question.plain, 3);
    ck_assert(pthread_equal(question.ran_on, pthread_self()));
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("never run"), 0, 0), kRLRunLoopRunFinished);
}
END_TEST

START_TEST(a_function_for_a_mode_that_is_not_run_times_out_and_never_runs)
{
    struct question question = {0};
    double start = monotonic_seconds();
    errno = 0;
    ck_assert(!RLRunLoopPerformFunctionAndWait(looper.loop, RLSTR("never run"), answer, &question, 0.02));
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_double_ge(monotonic_seconds() - start, 0.02);
    /* Already removed from the queue. */
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(looper.loop, answer, &question), 0);
    ck_assert_int_eq(question.plain, 0);
}
END_TEST

static void pass_gate(void *info) { gate_pass(info); }

START_TEST(a_timeout_of_0_gives_up_at_once_when_the_loop_is_busy)
{
    static gate busy; /* static: the loop may pass it after the test has ended */
    gate_init(&busy);
    RLRunLoopPostFunction(looper.loop, kRLRunLoopDefaultMode, pass_gate, &busy);
    for (int i = 0; i < 3; i++) {
        struct question question = {0};
        ck_assert(!ask(&question, i == 0 ? 0 : i == 1 ? -1 : -HUGE_VAL));
        ck_assert_int_eq(errno, ETIMEDOUT);
        ck_assert_int_eq(question.plain, 0);
    }
    gate_open(&busy);
}
END_TEST

/* The loop sleeps, and could call the function immediately. Whether it does must not depend on which thread is quicker. */
START_TEST(a_timeout_of_0_never_runs_the_function_even_if_the_loop_is_idle)
{
    for (int i = 0; i < SCALED(300); i++) {
        struct question question = {0};
        await_waiting(looper.loop);
        errno = 0;
        ck_assert(!ask(&question, i % 2 == 0 ? 0 : -1));
        ck_assert_int_eq(errno, ETIMEDOUT);
        ck_assert(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
        ck_assert_int_eq(question.plain, 0);
    }
}
END_TEST

struct slow {
    gate begun, may_end;
    int plain;
};

static void be_slow(void *info)
{
    struct slow *slow = info;
    gate_open(&slow->begun);
    gate_pass(&slow->may_end);
    slow->plain = 1;
}

static void *wait_for_slow(void *info)
{
    struct slow *slow = info;
    gate_pass(&slow->begun);
    spin_until(RLAbsoluteTimeGetCurrent() + 0.1);
    gate_open(&slow->may_end);
    return NULL;
}

/* The function begins immediately, and is busy until long after the time limit. Since it has begun, the wait lasts until it ends. */
START_TEST(a_function_that_has_begun_is_waited_for_beyond_the_time_limit)
{
    struct slow slow = {.plain = 0};
    gate_init(&slow.begun);
    gate_init(&slow.may_end);
    /* Makes sure that the loop runs. */
    RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL);
    pthread_t helper = start_thread(wait_for_slow, &slow);
    bool ran = RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, be_slow, &slow, 0.05);
    if (!ran) { /* the machine was so busy that 50 ms were not enough to begin: nothing to check */
        gate_open(&slow.begun);
    }
    join_thread(helper);
    ck_assert_int_eq(slow.plain, ran);
}
END_TEST

static struct question cancelled_question;
static void *wait_in_a_mode_never_run(UNUSED void *info)
{
    errno = 0;
    ck_assert(!RLRunLoopPerformFunctionAndWait(looper.loop, RLSTR("never run"), answer, &cancelled_question, HUGE_VAL));
    ck_assert_int_eq(errno, ECANCELED);
    return NULL;
}

START_TEST(cancelling_the_function_ends_the_wait)
{
    pthread_t thread = start_thread(wait_in_a_mode_never_run, NULL);
    while (RLRunLoopCancelPerformFunction(looper.loop, answer, &cancelled_question) == 0)
        sched_yield();
    join_thread(thread);
    ck_assert_int_eq(cancelled_question.plain, 0);
}
END_TEST

static gate bystander_ready;
static RLRunLoopRef bystander_loop;
static atomic_int bystander_may_go;
static void *exit_without_running(UNUSED void *info)
{
    bystander_loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    gate_open(&bystander_ready);
    while (!bystander_may_go)
        sched_yield();
    return NULL;
}

static void *wait_for_bystander(UNUSED void *info)
{
    struct question question = {0};
    errno = 0;
    ck_assert(!RLRunLoopPerformFunctionAndWait(bystander_loop, kRLRunLoopDefaultMode, answer, &question, HUGE_VAL));
    ck_assert_int_eq(errno, ESRCH);
    ck_assert_int_eq(question.plain, 0);
    return NULL;
}

START_TEST(the_exit_of_the_loops_thread_ends_the_wait)
{
    gate_init(&bystander_ready);
    pthread_t bystander = start_thread(exit_without_running, NULL);
    gate_pass(&bystander_ready);
    pthread_t waiters[3];
    for (int i = 0; i < 3; i++)
        waiters[i] = start_thread(wait_for_bystander, NULL);
    bystander_may_go = 1; /* some threads are waiting by then, others call too late: both get ESRCH */
    join_thread(bystander);
    for (int i = 0; i < 3; i++)
        join_thread(waiters[i]);
    RLRelease(bystander_loop);
}
END_TEST

static void ask_back(void *info)
{
    struct question *question = info;
    question->plain++;
    if (question->plain < 5) /* on the loop's own thread: called immediately, no deadlock */
        ck_assert(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, ask_back, info, 0));
}

START_TEST(waiting_inside_the_function_for_the_same_loop_does_not_deadlock)
{
    struct question question = {0};
    ck_assert(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, ask_back, &question, HUGE_VAL));
    ck_assert_int_eq(question.plain, 5);
}
END_TEST

enum { ASKERS = 8, QUESTIONS = SCALED(2000) };
static atomic_int answered, timed_out, ran;
static int plain_sum; /* loop's thread only */

static void count_plain(void *info)
{
    plain_sum++;
    atomic_fetch_add(&ran, 1);
    *(int *)info += 1; /* on the caller's stack: must not be touched after the caller has continued */
}

static void *ask_often(void *info)
{
    unsigned seed = (unsigned)(uintptr_t)info;
    for (int i = 0; i < QUESTIONS; i++) {
        int on_stack = 0;
        seed = seed * 1103515245 + 12345;
        double timeout = (seed >> 16) % 4 == 0 ? 1e-6 * ((seed >> 20) % 100) : HUGE_VAL;
        bool done =
            RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, count_plain, &on_stack, timeout);
        if (on_stack != done || (!done && errno != ETIMEDOUT))
            ck_abort_msg("ran %d times, result %d, errno %d", on_stack, done, errno);
        atomic_fetch_add(done ? &answered : &timed_out, 1);
    }
    return NULL;
}

START_TEST(many_threads_wait_with_tight_timeouts)
{
    pthread_t threads[ASKERS];
    for (int i = 0; i < ASKERS; i++)
        threads[i] = start_thread(ask_often, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < ASKERS; i++)
        join_thread(threads[i]);
    ck_assert_int_eq(answered + timed_out, ASKERS * QUESTIONS);
    ck_assert_int_eq(ran, answered); /* exactly those that were reported as done */
    ck_assert_int_eq(plain_sum, answered);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-wait");
    TCase *tcase = add_case(suite, "wait", 60);
    tcase_add_checked_fixture(tcase, start_looper, stop_looper);
    tcase_add_test(tcase, the_function_runs_on_the_loops_thread_and_its_writes_are_visible);
    tcase_add_test(tcase, on_the_loops_thread_the_function_is_called_at_once_whatever_mode_and_timeout);
    tcase_add_test(tcase, a_function_for_a_mode_that_is_not_run_times_out_and_never_runs);
    tcase_add_test(tcase, a_timeout_of_0_gives_up_at_once_when_the_loop_is_busy);
    tcase_add_test(tcase, a_timeout_of_0_never_runs_the_function_even_if_the_loop_is_idle);
    tcase_add_test(tcase, a_function_that_has_begun_is_waited_for_beyond_the_time_limit);
    tcase_add_test(tcase, cancelling_the_function_ends_the_wait);
    tcase_add_test(tcase, the_exit_of_the_loops_thread_ends_the_wait);
    tcase_add_test(tcase, waiting_inside_the_function_for_the_same_loop_does_not_deadlock);
    tcase_add_test(tcase, many_threads_wait_with_tight_timeouts);
    return suite;
}
