/* Checks pthread_exit() in a callback: the loop ends as at any thread exit, and releases what it was calling. Items that survive
 * can be used in another loop. */
#include "harness.h"

#include <sched.h>
#include <sys/syscall.h>

static atomic_bool ends_thread = true;
static atomic_int calls, calls_before = 0; /* how many callbacks return */

static void end_thread(UNUSED void *info)
{
    if (++calls > calls_before && ends_thread)
        pthread_exit(NULL);
}

static void end_by_timer(UNUSED RLRunLoopTimerRef timer, void *info) { end_thread(info); }
static void end_by_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    end_thread(info);
}

/* Runs the loop of a new thread until a callback ends the thread. */
static void *add_and_run(void *add)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, end_by_timer, NULL);
    RLRunLoopAddTimer(rl, keeper, kRLRunLoopDefaultMode);
    RLRelease(keeper);
    ((void (*)(RLRunLoopRef))add)(rl);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, ends_thread ? 1e9 : 0, 0);
    return NULL;
}

static void run_until_ended(void (*add)(RLRunLoopRef rl)) { join_thread(start_thread(add_and_run, (void *)add)); }

/* -- Timer -- */

static struct lifetime life, other_life;
static RLRunLoopTimerRef timer;
static void add_timer(RLRunLoopRef rl)
{
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    require(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
}

START_TEST(a_timer_whose_callback_ends_the_thread_works_in_another_loop)
{
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    timer = RLRunLoopTimerCreate(NULL, 0, 1e-3, 0, 0, end_by_timer, &context);
    run_until_ended(add_timer);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(RLGetRetainCount(timer), 1);
    ck_assert(RLRunLoopTimerIsValid(timer));
    RLRunLoopTimerSetNextFireDate(timer, 0);
    run_until_ended(add_timer);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRelease(timer);
    /* No loop has a reference, so that was the last one. */
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Sources -- */

static RLRunLoopSourceRef sources[3];
static void add_sources(RLRunLoopRef rl)
{
    for (int i = 0; i < 3; i++) {
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(sources[i]);
    }
}

static void add_signalled_source(RLRunLoopRef rl)
{
    RLRunLoopAddSource(rl, sources[0], kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(sources[0]);
}

static void add_source(RLRunLoopRef rl) { RLRunLoopAddSource(rl, sources[0], kRLRunLoopDefaultMode); }

START_TEST(sources_of_a_pass_whose_first_callback_ends_the_thread_are_released)
{
    RLRunLoopSourceContext context = {
        .info = &life, .retain = lifetime_retain, .release = lifetime_release, .perform = end_thread};
    for (int i = 0; i < 3; i++)
        sources[i] = RLRunLoopSourceCreate(NULL, i, &context);
    run_until_ended(add_sources);
    ck_assert_int_eq(calls, 1);
    ends_thread = false;
    run_until_ended(add_sources);
    ck_assert_int_eq(calls, 4);
    for (int i = 0; i < 3; i++)
        RLRelease(sources[i]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static int result_in_cancel;
static void run_in_cancel(UNUSED void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode)
{
    result_in_cancel = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
}

/* The run that the thread has left does not count as an outer run of the one during the tear-down. */
START_TEST(a_cancel_callback_may_run_the_loop_after_a_callback_ended_the_thread)
{
    RLRunLoopSourceContext context = {.perform = end_thread, .cancel = run_in_cancel};
    sources[0] = RLRunLoopSourceCreate(NULL, 0, &context);
    run_until_ended(add_signalled_source);
    ck_assert_int_eq(result_in_cancel, kRLRunLoopRunTimedOut);
    RLRelease(sources[0]);
}
END_TEST

START_TEST(sources_of_a_pass_whose_second_callback_ends_the_thread_are_released_once)
{
    RLRunLoopSourceContext context = {
        .info = &life, .retain = lifetime_retain, .release = lifetime_release, .perform = end_thread};
    for (int i = 0; i < 3; i++)
        sources[i] = RLRunLoopSourceCreate(NULL, i, &context);
    calls_before = 1;
    run_until_ended(add_sources);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(lifetime_held(&life), 3);
    calls = 0;
    run_until_ended(add_sources); /* all three are usable again */
    ck_assert_int_eq(calls, 2);
    for (int i = 0; i < 3; i++)
        RLRelease(sources[i]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* The second source performs for the last time; nothing refers to it when its release callback ends the thread. */
static void end_thread_in_release(const void *info)
{
    lifetime_release(info);
    pthread_exit(NULL);
}

static void drop_itself(UNUSED void *info)
{
    calls++;
    drop_source(sources[1]);
}

START_TEST(a_source_whose_release_ends_the_thread_after_its_perform_is_released_once)
{
    RLRunLoopSourceContext context = {
        .info = &life, .retain = lifetime_retain, .release = lifetime_release, .perform = end_thread};
    ends_thread = false;
    for (int i = 0; i < 3; i++) {
        context.perform = i == 1 ? drop_itself : end_thread;
        context.release = i == 1 ? end_thread_in_release : lifetime_release;
        sources[i] = RLRunLoopSourceCreate(NULL, i, &context);
    }
    run_until_ended(add_sources);
    ck_assert_int_eq(calls, 2);
    RLRelease(sources[0]);
    RLRelease(sources[2]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static int ready_fd;
static int ready_port(UNUSED void *info) { return ready_fd; }

START_TEST(a_version_1_source_whose_callback_ends_the_thread_is_released)
{
    int ends[2];
    make_pipe(ends);
    ready_fd = ends[0];
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    RLRunLoopSourceContext1 context = {.version = 1,
                                       .info = &life,
                                       .retain = lifetime_retain,
                                       .release = lifetime_release,
                                       .getPort = ready_port,
                                       .perform = end_thread};
    sources[0] = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    run_until_ended(add_source);
    ck_assert_int_eq(calls, 1);
    RLRelease(sources[0]);
    ck_assert_int_eq(lifetime_held(&life), 0);
    close_pipe(ends);
}
END_TEST

/* The source removes itself from the loop, and its callback is still running when the nested run performs the next source. */
static void leave_and_run_again(UNUSED void *info)
{
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), sources[0], kRLRunLoopDefaultMode);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[1], kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

START_TEST(a_removed_version_1_source_is_released_once_when_a_run_inside_its_callback_ends_the_thread)
{
    int ends[2];
    make_pipe(ends);
    ready_fd = ends[0];
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    for (int i = 0; i < 2; i++) {
        RLRunLoopSourceContext1 context = {.version = 1,
                                           .info = &life,
                                           .retain = lifetime_retain,
                                           .release = lifetime_release,
                                           .getPort = ready_port,
                                           .perform = i == 0 ? leave_and_run_again : end_thread};
        sources[i] = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    }
    run_until_ended(add_source);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(lifetime_held(&life), 2);
    RLRelease(sources[0]);
    RLRelease(sources[1]);
    ck_assert_int_eq(lifetime_held(&life), 0);
    close_pipe(ends);
}
END_TEST

/* -- Observers -- */

static RLRunLoopObserverRef observers[3];
static void add_observers(RLRunLoopRef rl)
{
    for (int i = 0; i < 3 && observers[i]; i++)
        RLRunLoopAddObserver(rl, observers[i], kRLRunLoopDefaultMode);
}

START_TEST(observers_of_an_activity_whose_second_callback_ends_the_thread_are_released_once)
{
    RLRunLoopObserverContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    for (int i = 0; i < 3; i++)
        observers[i] = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, i, end_by_activity, &context);
    calls_before = 1;
    run_until_ended(add_observers);
    ck_assert_int_eq(calls, 2);
    calls = 0;
    run_until_ended(add_observers);
    ck_assert_int_eq(calls, 2);
    for (int i = 0; i < 3; i++)
        RLRelease(observers[i]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Items that another thread invalidates during their callback -- */

static void *invalidate_timer(UNUSED void *info)
{
    RLRunLoopTimerInvalidate(timer);
    return NULL;
}

static void invalidate_elsewhere_and_end(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    join_thread(start_thread(invalidate_timer, NULL));
    require(lifetime_held(&life) > 0);
    pthread_exit(NULL);
}

START_TEST(a_timer_invalidated_by_another_thread_releases_its_info_when_its_callback_ends_the_thread)
{
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    timer = RLRunLoopTimerCreate(NULL, 0, 1e-3, 0, 0, invalidate_elsewhere_and_end, &context);
    run_until_ended(add_timer);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(timer);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static atomic_bool release_ends_thread;
static void release_and_end(const void *info)
{
    lifetime_release(info);
    if (atomic_exchange(&release_ends_thread, false))
        pthread_exit(NULL);
}

static void end_by_release(UNUSED RLRunLoopTimerRef own, UNUSED void *info) { release_ends_thread = true; }

START_TEST(a_timer_whose_release_ends_the_thread_after_its_call_is_released_once)
{
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = release_and_end};
    timer = RLRunLoopTimerCreate(NULL, 0, _i ? 1e6 : 0, 0, 0, end_by_release, &context);
    run_until_ended(add_timer);
    RLRunLoopTimerInvalidate(timer);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(timer);
}
END_TEST

static void *invalidate_observer(UNUSED void *info)
{
    RLRunLoopObserverInvalidate(observers[0]);
    return NULL;
}

static void invalidate_activity_elsewhere_and_end(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity,
                                                  UNUSED void *info)
{
    join_thread(start_thread(invalidate_observer, NULL));
    require(lifetime_held(&life) > 0);
    pthread_exit(NULL);
}

START_TEST(an_observer_invalidated_by_another_thread_releases_its_info_when_its_callback_ends_the_thread)
{
    RLRunLoopObserverContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    observers[0] =
        RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, invalidate_activity_elsewhere_and_end, &context);
    run_until_ended(add_observers);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(observers[0]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(observers_of_an_activity_whose_first_callback_ends_the_thread_work_in_another_loop)
{
    RLRunLoopObserverContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    for (int i = 0; i < 2; i++)
        observers[i] = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, i, end_by_activity, &context);
    run_until_ended(add_observers);
    ck_assert_int_eq(calls, 1);
    ends_thread = false;
    run_until_ended(add_observers);
    ck_assert_int_eq(calls, 3);
    for (int i = 0; i < 2; i++)
        RLRelease(observers[i]);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Functions -- */

static void add_functions(RLRunLoopRef rl)
{
    RLRunLoopPerformFunction(rl, RLSTR("other"), do_nothing, NULL);
    RLRunLoopPerformFunctionWithRelease(rl, RLSTR("other"), end_thread, &other_life, lifetime_end);
    RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, end_thread, NULL, NULL);
    for (int i = 0; i < 3; i++)
        RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, end_thread, &life, lifetime_end);
}

START_TEST(functions_behind_one_that_ends_the_thread_are_released_and_not_run)
{
    run_until_ended(add_functions);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(life.releases, 3);
    ck_assert_int_eq(other_life.releases, 1);
}
END_TEST

static RLArrayRef modes;

static void add_function_of_modes(RLRunLoopRef rl)
{
    RLRunLoopPerformFunctionWithRelease(rl, modes, do_nothing, NULL, end_thread);
}

START_TEST(modes_of_a_function_whose_release_ends_the_thread_are_released)
{
    const void *names[] = {kRLRunLoopDefaultMode};
    modes = RLArrayCreate(NULL, names, 1, &kRLTypeArrayCallBacks);
    run_until_ended(add_function_of_modes);
    ck_assert_int_eq(RLGetRetainCount(modes), 1);
    RLRelease(modes);
}
END_TEST

static RLRunLoopRef shared;

static atomic_int waiter_tid;
static pthread_t waiter;

static void *wait_for_function(UNUSED void *info)
{
    waiter_tid = (int)syscall(SYS_gettid);
    errno = 0;
    require(!RLRunLoopPerformFunctionAndWait(shared, kRLRunLoopDefaultMode, do_nothing, NULL, 15));
    return (void *)(intptr_t)errno;
}

/* The waiter's request is in the same batch as the function that ends the thread, and comes after it. */
static void add_function_and_waiter(RLRunLoopRef rl)
{
    shared = (RLRunLoopRef)RLRetain(rl);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, end_thread, NULL);
    waiter = start_thread(wait_for_function, NULL);
    while (waiter_tid == 0 || !is_asleep(waiter_tid))
        sched_yield();
}

START_TEST(a_caller_that_waits_behind_a_function_that_ends_the_thread_gets_esrch)
{
    void *error;
    run_until_ended(add_function_and_waiter);
    ck_assert_int_eq(pthread_join(waiter, &error), 0);
    ck_assert_int_eq((intptr_t)error, ESRCH);
    ck_assert_int_eq(calls, 1);
    RLRelease(shared);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-ended-in-callback");
    TCase *tcase = add_case(suite, "ended", 30);
    tcase_add_test(tcase, a_timer_whose_callback_ends_the_thread_works_in_another_loop);
    tcase_add_test(tcase, sources_of_a_pass_whose_first_callback_ends_the_thread_are_released);
    tcase_add_test(tcase, a_cancel_callback_may_run_the_loop_after_a_callback_ended_the_thread);
    tcase_add_test(tcase, sources_of_a_pass_whose_second_callback_ends_the_thread_are_released_once);
    tcase_add_test(tcase, a_source_whose_release_ends_the_thread_after_its_perform_is_released_once);
    tcase_add_test(tcase, a_version_1_source_whose_callback_ends_the_thread_is_released);
    tcase_add_test(tcase, a_removed_version_1_source_is_released_once_when_a_run_inside_its_callback_ends_the_thread);
    tcase_add_test(tcase, observers_of_an_activity_whose_second_callback_ends_the_thread_are_released_once);
    tcase_add_test(tcase, a_timer_invalidated_by_another_thread_releases_its_info_when_its_callback_ends_the_thread);
    tcase_add_test(tcase,
                   an_observer_invalidated_by_another_thread_releases_its_info_when_its_callback_ends_the_thread);
    tcase_add_loop_test(tcase, a_timer_whose_release_ends_the_thread_after_its_call_is_released_once, 0, 2);
    tcase_add_test(tcase, observers_of_an_activity_whose_first_callback_ends_the_thread_work_in_another_loop);
    tcase_add_test(tcase, functions_behind_one_that_ends_the_thread_are_released_and_not_run);
    tcase_add_test(tcase, modes_of_a_function_whose_release_ends_the_thread_are_released);
    tcase_add_test(tcase, a_caller_that_waits_behind_a_function_that_ends_the_thread_gets_esrch);
    return suite;
}
