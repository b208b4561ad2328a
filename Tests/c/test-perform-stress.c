/* Stress test: many threads post functions to one running loop, and cancel them. None may be lost or called twice. The tests are
 * bounded by counts, not by time. */
#include "harness.h"

#include <sched.h>

enum { THREADS = 4 };
static struct looper looper;
static void start_looper(void) { looper_start(&looper); }
static void stop_looper(void) { looper_stop(&looper); }

/* Returns when the loop has called everything that was posted before. */
static void drain(void)
{
    require(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
}

/* -- Producers -- */

enum { POSTS = SCALED(50000) };
struct post {
    int producer, number;
};
static struct post posts[THREADS][POSTS];
static int next_expected[THREADS], misplaced, received; /* loop's thread only */

static void receive_post(void *info)
{
    struct post *post = info;
    misplaced += post->number != next_expected[post->producer];
    next_expected[post->producer] = post->number + 1;
    received++;
}

static void *produce(void *info)
{
    int producer = (int)(uintptr_t)info;
    for (int i = 0; i < POSTS; i++) {
        posts[producer][i] = (struct post){producer, i};
        if (!RLRunLoopPostFunction(looper.loop, kRLRunLoopDefaultMode, receive_post, &posts[producer][i]))
            abort();
        if (i % 1000 == 999) /* lets the loop go to sleep from time to time */
            sched_yield();
    }
    return NULL;
}

START_TEST(posts_of_four_producers_run_once_and_in_order_per_producer)
{
    on_threads(THREADS, produce);
    drain();
    ck_assert_int_eq(received, THREADS * POSTS);
    ck_assert_int_eq(misplaced, 0);
}
END_TEST

/* -- Cancel against run: each request either runs or is cancelled -- */

static atomic_int ran[THREADS], cancelled[THREADS];

static void *post_and_cancel(void *info)
{
    int thread = (int)(uintptr_t)info;
    for (int i = 0; i < SCALED(10000); i++) {
        if (!RLRunLoopPostFunction(looper.loop, kRLRunLoopDefaultMode, count_perform, &ran[thread]))
            abort();
        cancelled[thread] += (int)RLRunLoopCancelPerformFunction(looper.loop, count_perform, &ran[thread]);
    }
    return NULL;
}

START_TEST(a_post_either_runs_or_is_cancelled)
{
    on_threads(THREADS, post_and_cancel);
    drain();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(ran[i] + cancelled[i], SCALED(10000));
}
END_TEST

static void *delay_and_cancel(void *info)
{
    int thread = (int)(uintptr_t)info;
    for (int i = 0; i < SCALED(10000); i++) {
        if (!RLRunLoopPerformFunctionAfterDelay(looper.loop, kRLRunLoopDefaultMode, count_perform, &ran[thread],
                                                i % 20 * 1e-6))
            abort();
        if (i % 3)
            sched_yield();
        cancelled[thread] += (int)RLRunLoopCancelPerformFunction(looper.loop, count_perform, &ran[thread]);
    }
    return NULL;
}

START_TEST(a_delayed_function_either_runs_or_is_cancelled)
{
    on_threads(THREADS, delay_and_cancel);
    drain();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(ran[i] + cancelled[i], SCALED(10000));
}
END_TEST

/* -- A queue so long that a pass leaves its rest for the next one -- */

enum { LONG = 3000 };
static int passes, called_of_long, called_before_last, pass_of_post;

static void count_pass(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    passes++;
}

static void last_function(UNUSED void *info)
{
    called_before_last = called_of_long;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void *post_last(void *loop)
{
    require(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, last_function, NULL));
    return NULL;
}

/* Takes five microseconds in the first passes, so that these end before the queue does, and no time after that. */
static void one_of_long(UNUSED void *info)
{
    called_of_long++;
    if (passes == pass_of_post) {
        pass_of_post = 0;
        pthread_t thread;
        require(pthread_create(&thread, NULL, post_last, RLRunLoopGetCurrent()) == 0);
        pthread_join(thread, NULL);
    }
    double end = RLAbsoluteTimeGetCurrent() + 5e-6;
    while (passes < 3 && RLAbsoluteTimeGetCurrent() < end)
        continue;
}

START_TEST(functions_posted_while_a_long_queue_runs_are_called_after_it)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    passes = called_of_long = called_before_last = 0;
    pass_of_post = _i;
    for (int i = 0; i < LONG; i++)
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, one_of_long, NULL));
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, count_pass, NULL);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRunLoopSourceContext context = {.perform = do_nothing};
    /* Keeps the mode from being empty: a run that forgets the post would sleep forever. */
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, HUGE_VAL, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(called_before_last, LONG);
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
}
END_TEST

static RLRunLoopTimerRef end_of_sleep;
static int sleeps;

/* A timer ends the first sleep after the last function. There is no reason for a second sleep. */
static void note_sleep(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    if (called_of_long == LONG && sleeps++ == 0)
        RLRunLoopTimerSetNextFireDate(end_of_sleep, RLAbsoluteTimeGetCurrent() + 0.05);
}

static void stop_by_timer(UNUSED RLRunLoopTimerRef timer, void *info) { stop_current(info); }

START_TEST(a_loop_sleeps_as_soon_as_a_long_queue_is_empty)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    passes = called_of_long = sleeps = 0;
    pass_of_post = -1;
    for (int i = 0; i < LONG; i++)
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, one_of_long, NULL));
    RLRunLoopObserverRef pass = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_pass, NULL);
    RLRunLoopObserverRef sleep = make_observer(kRLRunLoopBeforeWaiting, 1, 0, note_sleep, NULL);
    RLRunLoopAddObserver(rl, pass, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, sleep, kRLRunLoopDefaultMode);
    end_of_sleep = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 1, stop_by_timer, NULL);
    RLRunLoopAddTimer(rl, end_of_sleep, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, HUGE_VAL, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(called_of_long, LONG);
    ck_assert_int_eq(sleeps, 1);
    drop_timer(end_of_sleep);
    drop_observer(sleep);
    drop_observer(pass);
}
END_TEST

/* -- Functions with a release that uses the library -- */

static atomic_int released;
static void release_and_post(void *info)
{
    released++;
    if (info) { /* once more, without info */
        if (!RLRunLoopPerformFunctionWithRelease(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL,
                                                 release_and_post))
            abort();
        RLRunLoopWakeUp(looper.loop);
    }
}

static void *post_with_release(void *info)
{
    for (int i = 0; i < SCALED(5000); i++) {
        if (!RLRunLoopPerformFunctionWithRelease(looper.loop, i % 2 ? kRLRunLoopDefaultMode : RLSTR("never run"),
                                                 do_nothing, &posts[(uintptr_t)info], release_and_post))
            abort();
        RLRunLoopCancelPerformFunction(looper.loop, do_nothing, &posts[(uintptr_t)info]);
    }
    return NULL;
}

START_TEST(release_functions_may_post_and_each_is_called_once)
{
    on_threads(THREADS, post_with_release);
    drain();
    drain();
    ck_assert_int_eq(released, 2 * THREADS * SCALED(5000));
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("perform-stress");
    TCase *tcase = add_case(suite, "stress", 60);
    tcase_add_checked_fixture(tcase, start_looper, stop_looper);
    tcase_add_test(tcase, posts_of_four_producers_run_once_and_in_order_per_producer);
    tcase_add_loop_test(tcase, functions_posted_while_a_long_queue_runs_are_called_after_it, 1, 4);
    tcase_add_test(tcase, a_loop_sleeps_as_soon_as_a_long_queue_is_empty);
    tcase_add_test(tcase, a_post_either_runs_or_is_cancelled);
    tcase_add_test(tcase, a_delayed_function_either_runs_or_is_cancelled);
    tcase_add_test(tcase, release_functions_may_post_and_each_is_called_once);
    return suite;
}
