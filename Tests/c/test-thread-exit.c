/* Checks the exit of a thread that has a loop, and loops that outlive their thread. */
#include "harness.h"

struct ending {
    pthread_t self;
    RLRunLoopRef loop;
    struct lifetime source_life, timer_life, observer_life;
    RLRunLoopSourceRef source;
    RLRunLoopTimerRef timer;
    int cancels, cancels_elsewhere, function_calls, releases, releases_elsewhere;
    bool runs, keeps_loop, calls_pthread_exit;
};

static struct ending *of_source(void *info)
{
    return (struct ending *)((char *)info - offsetof(struct ending, source_life));
}

static void note_cancel(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    struct ending *ending = of_source(info);
    ending->cancels++;
    ending->cancels_elsewhere += !pthread_equal(pthread_self(), ending->self);
    ck_assert_ptr_eq(loop, ending->loop);
    ck_assert_ptr_nonnull(mode);
}

static void count_function(void *info) { ((struct ending *)info)->function_calls++; }
static void count_release(void *info)
{
    struct ending *ending = info;
    ending->releases++;
    ending->releases_elsewhere += !pthread_equal(pthread_self(), ending->self);
}

static void *live_and_end(void *info)
{
    struct ending *ending = info;
    ending->self = pthread_self();
    ending->loop = RLRunLoopGetCurrent();
    if (ending->keeps_loop)
        RLRetain(ending->loop);
    RLRunLoopSourceContext source = {
        .info = &ending->source_life, .retain = lifetime_retain, .release = lifetime_release, .cancel = note_cancel};
    RLRunLoopTimerContext timer = {.info = &ending->timer_life, .retain = lifetime_retain, .release = lifetime_release};
    RLRunLoopObserverContext observer = {
        .info = &ending->observer_life, .retain = lifetime_retain, .release = lifetime_release};
    ending->source = RLRunLoopSourceCreate(NULL, 0, &source);
    ending->timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 3600, 0, 0, 0, count_timer, &timer);
    RLRunLoopObserverRef watcher = RLRunLoopObserverCreate(NULL, kRLRunLoopEntry, 1, 0, count_activity, &observer);
    RLRunLoopAddSource(ending->loop, ending->source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(ending->loop, ending->source, RLSTR("second"));
    RLRunLoopAddTimer(ending->loop, ending->timer, kRLRunLoopCommonModes);
    RLRunLoopAddObserver(ending->loop, watcher, RLSTR("never run"));
    RLRelease(watcher); /* the loop has the only reference */
    RLRunLoopPerformFunctionWithRelease(ending->loop, RLSTR("never run"), count_function, ending, count_release);
    RLRunLoopPerformFunctionAfterDelay(ending->loop, RLSTR("never run"), count_function, ending, 3600);
    if (ending->runs)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    if (ending->calls_pthread_exit)
        pthread_exit(NULL);
    return NULL;
}

static void end_one_thread(struct ending *ending)
{
    join_thread(start_thread(live_and_end, ending));
    ck_assert_int_eq(ending->cancels, 2);
    ck_assert_int_eq(ending->cancels_elsewhere, 0);
    ck_assert_int_eq(ending->function_calls, 0);
    ck_assert_int_eq(ending->releases, 1);
    ck_assert_int_eq(ending->releases_elsewhere, 0);
    ck_assert_int_eq(ending->observer_life.releases, 1);
    ck_assert(RLRunLoopSourceIsValid(ending->source)); /* valid objects, in no loop */
    ck_assert(RLRunLoopTimerIsValid(ending->timer));
    ck_assert_int_eq(ending->source_life.releases + ending->timer_life.releases, 0);
}

static void move_items_to_the_main_loop(struct ending *ending)
{
    RLRunLoopAddSource(RLRunLoopGetMain(), ending->source, RLSTR("new"));
    RLRunLoopAddTimer(RLRunLoopGetMain(), ending->timer, RLSTR("new"));
    ck_assert(RLRunLoopContainsSource(RLRunLoopGetMain(), ending->source, RLSTR("new")));
    ck_assert(RLRunLoopContainsTimer(RLRunLoopGetMain(), ending->timer, RLSTR("new")));
    RLRunLoopRemoveTimer(RLRunLoopGetMain(), ending->timer, RLSTR("new"));
    RLRunLoopRemoveSource(RLRunLoopGetMain(), ending->source, RLSTR("new"));
}

static void release_items(struct ending *ending)
{
    RLRelease(ending->source);
    RLRelease(ending->timer);
    ck_assert_int_eq(ending->source_life.releases, 1);
    ck_assert_int_eq(ending->timer_life.releases, 1);
}

START_TEST(thread_exit_cancels_releases_and_drops_on_the_exiting_thread)
{
    struct ending ending = {.runs = true};
    end_one_thread(&ending);
    release_items(&ending);
}
END_TEST

START_TEST(thread_exit_cleans_up_a_loop_that_never_ran)
{
    struct ending ending = {.calls_pthread_exit = true};
    end_one_thread(&ending);
    release_items(&ending);
}
END_TEST

START_TEST(items_of_an_ended_loop_may_join_another)
{
    struct ending ending = {.runs = true};
    end_one_thread(&ending);
    ending.loop = RLRunLoopGetMain();
    ending.self = pthread_self();
    move_items_to_the_main_loop(&ending);
    release_items(&ending);
}
END_TEST

START_TEST(a_retained_loop_outlives_its_thread_and_does_nothing)
{
    struct ending ending = {.keeps_loop = true};
    end_one_thread(&ending);
    RLRunLoopRef dead = ending.loop;
    atomic_int calls = 0;
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopEntry, 1, 0, count_activity, &calls);
    ck_assert_uint_eq(RLGetTypeID(dead), RLRunLoopGetTypeID());
    RLRunLoopWakeUp(dead);
    RLRunLoopStop(dead);
    ck_assert(!RLRunLoopIsWaiting(dead));
    ck_assert_ptr_null(RLRunLoopCopyCurrentMode(dead));
    RLRunLoopAddCommonMode(dead, RLSTR("common"));
    RLRunLoopAddSource(dead, ending.source, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(dead, ending.timer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(dead, observer, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsSource(dead, ending.source, kRLRunLoopDefaultMode));
    ck_assert(!RLRunLoopContainsTimer(dead, ending.timer, kRLRunLoopDefaultMode));
    ck_assert(!RLRunLoopContainsObserver(dead, observer, kRLRunLoopDefaultMode));
    RLRunLoopRemoveSource(dead, ending.source, kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(dead, ending.timer, kRLRunLoopDefaultMode);
    RLRunLoopRemoveObserver(dead, observer, kRLRunLoopDefaultMode);
    ck_assert_double_eq(RLRunLoopGetNextTimerFireDate(dead, kRLRunLoopDefaultMode), 0);
    RLRunLoopSetSpinInterval(dead, 0.001);
    RLRunLoopSourceSignal(ending.source);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(dead, NULL, &ending), 0);
    RLArrayRef modes = RLRunLoopCopyAllModes(dead);
    if (modes)
        RLRelease(modes);
    RLStringRef description = RLCopyDescription(dead);
    ck_assert_ptr_nonnull(description);
    RLRelease(description);
    ending.loop = RLRunLoopGetMain(); /* a timer that an ended loop did not take can be added to another */
    ending.self = pthread_self();
    move_items_to_the_main_loop(&ending);
    drop_observer(observer);
    RLRelease(dead);
    release_items(&ending);
}
END_TEST

START_TEST(functions_for_an_ended_loop_are_refused_with_esrch)
{
    struct ending ending = {.keeps_loop = true};
    end_one_thread(&ending);
    struct lifetime life = {0};
    errno = 0;
    ck_assert(!RLRunLoopPerformFunction(ending.loop, kRLRunLoopDefaultMode, do_nothing, NULL));
    ck_assert_int_eq(errno, ESRCH);
    ck_assert(!RLRunLoopPostFunction(ending.loop, kRLRunLoopDefaultMode, do_nothing, NULL));
    ck_assert(!RLRunLoopPerformFunctionAfterDelay(ending.loop, kRLRunLoopDefaultMode, do_nothing, NULL, 0));
    errno = 0;
    ck_assert(!RLRunLoopPerformFunctionAndWait(ending.loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
    ck_assert_int_eq(errno, ESRCH);
    ck_assert(
        !RLRunLoopPerformFunctionWithRelease(ending.loop, kRLRunLoopDefaultMode, do_nothing, &life, lifetime_end));
    ck_assert(!RLRunLoopPostFunctionWithRelease(ending.loop, kRLRunLoopDefaultMode, do_nothing, &life, lifetime_end));
    ck_assert_int_eq(life.releases, 0); /* still the caller's */
    RLRelease(ending.loop);
    release_items(&ending);
}
END_TEST

/* A thread-specific value may be destroyed after the loop. Its destructor may still receive that loop, or a new one. */
static pthread_key_t late_key;
static atomic_int late_calls;
static void use_loop_late(UNUSED void *value)
{
    if (RLRunLoopGetCurrent() != NULL) {
        RLRunLoopWakeUp(RLRunLoopGetCurrent());
        RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, do_nothing, NULL);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    }
    if (late_calls++ < 2)
        pthread_setspecific(late_key, &late_calls);
}

static void *set_late_value(UNUSED void *info)
{
    pthread_setspecific(late_key, &late_calls);
    RLRunLoopGetCurrent();
    return NULL;
}

START_TEST(using_the_current_loop_in_thread_specific_destructors_does_not_crash)
{
    ck_assert_int_eq(pthread_key_create(&late_key, use_loop_late), 0);
    join_thread(start_thread(set_late_value, NULL));
    ck_assert_int_ge(late_calls, 2);
}
END_TEST

/* -- A thousand threads -- */

static int pipe_ends[2];
static int pipe_port(UNUSED void *info) { return pipe_ends[0]; }

static void *use_a_loop_and_end(UNUSED void *info)
{
    atomic_int fired = 0;
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, &fired);
    RLRunLoopSourceRef source = make_port_source(0, pipe_port, do_nothing, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode); /* left in the loop, which releases it */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopPerformFunction(rl, RLSTR("never run"), do_nothing, NULL);
    RLRelease(timer);
    RLRelease(source);
    return (void *)(uintptr_t)(fired != 1);
}

static void end_threads(int threads)
{
    for (int i = 0; i < threads; i += 10) {
        pthread_t ten[10];
        for (int j = 0; j < 10; j++)
            ten[j] = start_thread(use_a_loop_and_end, NULL);
        for (int j = 0; j < 10; j++)
            join_thread(ten[j]);
    }
}

START_TEST(a_thousand_threads_with_loops_leak_nothing)
{
    ck_assert_int_eq(pipe(pipe_ends), 0);
    end_threads(SCALED(200)); /* warm-up: arenas, slabs, stacks */
    int descriptors = open_descriptors(), threads = live_threads();
    long before = resident_kilobytes();
    end_threads(SCALED(1000));
    ck_assert_int_eq(open_descriptors(), descriptors);
    await_threads(threads);
    /* A kilobyte per thread would be a megabyte. Sanitizers keep freed memory, and detect leaks themselves. */
    if (!SANITIZED)
        ck_assert_int_lt(resident_kilobytes() - before, 700);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-exit");
    TCase *tcase = add_case(suite, "exit", 60);
    tcase_add_test(tcase, thread_exit_cancels_releases_and_drops_on_the_exiting_thread);
    tcase_add_test(tcase, thread_exit_cleans_up_a_loop_that_never_ran);
    tcase_add_test(tcase, items_of_an_ended_loop_may_join_another);
    tcase_add_test(tcase, a_retained_loop_outlives_its_thread_and_does_nothing);
    tcase_add_test(tcase, functions_for_an_ended_loop_are_refused_with_esrch);
    tcase_add_test(tcase, using_the_current_loop_in_thread_specific_destructors_does_not_crash);
    tcase_add_test(tcase, a_thousand_threads_with_loops_leak_nothing);
    return suite;
}
