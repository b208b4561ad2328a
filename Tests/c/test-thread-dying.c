/* Checks threads that exit while other threads use their loops, and callbacks on an exiting thread that use its loop. */
#include "harness.h"

#include <sched.h>

/* -- A loop ends while other threads use it -- */

enum { USERS = 3, LIVES = SCALED(200) };
static RLRunLoopRef shared; /* guarded by shared_lock; a thread that takes it retains it */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int users_over, uses, posted, settled;
static struct lifetime item_life;

static RLRunLoopRef copy_shared(void)
{
    pthread_mutex_lock(&shared_lock);
    RLRunLoopRef loop = shared ? (RLRunLoopRef)RLRetain(shared) : NULL;
    pthread_mutex_unlock(&shared_lock);
    return loop;
}

static void settle(UNUSED void *info) { settled++; }

static void use(RLRunLoopRef loop, RLRunLoopTimerRef timer, RLRunLoopSourceRef source, RLRunLoopObserverRef observer)
{
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopCommonModes);
    RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(loop);
    if (RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopDefaultMode, do_nothing, NULL, settle))
        posted++;
    RLRunLoopPostFunction(loop, RLSTR("never run"), do_nothing, loop);
    RLRunLoopPerformFunctionAfterDelay(loop, kRLRunLoopDefaultMode, do_nothing, loop, 0.0001);
    RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, do_nothing, loop, 0.0002);
    RLRunLoopCancelPerformFunction(loop, do_nothing, loop);
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 0.0001);
    RLRunLoopAddCommonMode(loop, RLSTR("common"));
    RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode);
    RLRunLoopGetNextTimerFireDate(loop, kRLRunLoopDefaultMode);
    RLStringRef mode = RLRunLoopCopyCurrentMode(loop);
    if (mode)
        RLRelease(mode);
    RLRunLoopStop(loop);
    RLRunLoopRemoveObserver(loop, observer, kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(loop, timer, kRLRunLoopCommonModes);
    RLRunLoopRemoveSource(loop, source, kRLRunLoopDefaultMode);
}

static void ignore_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) {}
static void ignore_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
}

static void *use_shared_loops(UNUSED void *info)
{
    RLRunLoopSourceContext source_context = {
        .info = &item_life, .retain = lifetime_retain, .release = lifetime_release};
    RLRunLoopTimerContext timer_context = {.info = &item_life, .retain = lifetime_retain, .release = lifetime_release};
    while (!users_over) {
        RLRunLoopRef loop = copy_shared();
        if (loop == NULL) {
            sched_yield();
            continue;
        }
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &source_context);
        RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0.0001, 0, 0, ignore_timer, &timer_context);
        RLRunLoopObserverRef observer = make_observer(kRLRunLoopAllActivities, 1, 0, ignore_activity, NULL);
        use(loop, timer, source, observer);
        drop_observer(observer);
        drop_timer(timer);
        drop_source(source);
        RLRelease(loop);
        uses++;
    }
    return NULL;
}

static void *run_briefly(UNUSED void *info)
{
    pthread_mutex_lock(&shared_lock);
    shared = RLRunLoopGetCurrent();
    RLRetain(shared);
    pthread_mutex_unlock(&shared_lock);
    int before = uses;
    do
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0003, 0);
    while (uses < before + USERS + 1); /* at least one user has begun with this loop */
    return NULL;                       /* exits while the loop is still shared */
}

START_TEST(loops_end_while_other_threads_use_them)
{
    pthread_t users[USERS];
    for (int i = 0; i < USERS; i++)
        users[i] = start_thread(use_shared_loops, NULL);
    for (int life = 0; life < LIVES; life++) {
        join_thread(start_thread(run_briefly, NULL));
        pthread_mutex_lock(&shared_lock);
        RLRelease(shared);
        shared = NULL;
        pthread_mutex_unlock(&shared_lock);
    }
    users_over = 1;
    for (int i = 0; i < USERS; i++)
        join_thread(users[i]);
    ck_assert_int_gt(posted, 0);
    ck_assert_int_eq(settled, posted); /* each request ran or was dropped, and was released once */
    ck_assert_int_eq(lifetime_held(&item_life), 0);
}
END_TEST

/* -- Callbacks on the exiting thread that use its loop -- */

static atomic_int cancels, releases, posted_late;
static RLRunLoopRef exiting_loop;

static void use_exiting_loop(RLRunLoopRef loop)
{
    RLRunLoopTimerRef timer = make_timer(0, 1, ignore_timer, NULL);
    RLRunLoopSourceRef source = make_source(3, do_nothing, &exiting_loop);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    if (RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopDefaultMode, do_nothing, NULL, settle))
        posted_late++;
    RLRunLoopWakeUp(loop);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRelease(source);
    RLRelease(timer);
}

static void cancel_and_use(UNUSED void *info, RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    cancels++;
    use_exiting_loop(loop);
}

static void release_and_use(UNUSED void *info)
{
    releases++;
    use_exiting_loop(exiting_loop);
}

static void *exit_with_callbacks(UNUSED void *info)
{
    exiting_loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {.cancel = cancel_and_use};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(exiting_loop, source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(exiting_loop, source, RLSTR("second"));
    RLRelease(source);
    RLRunLoopPerformFunctionWithRelease(exiting_loop, RLSTR("never run"), do_nothing, NULL, release_and_use);
    return NULL;
}

START_TEST(callbacks_of_an_exiting_thread_may_use_its_loop)
{
    join_thread(start_thread(exit_with_callbacks, NULL));
    ck_assert_int_eq(cancels, 2);
    ck_assert_int_eq(releases, 1);
    ck_assert_int_eq(settled, posted_late); /* refused, or dropped and released */
}
END_TEST

/* -- The thread exits inside its run -- */

static void exit_thread(UNUSED void *info) { pthread_exit(NULL); }
static atomic_int exit_releases;
static void count_exit_release(UNUSED void *info) { exit_releases++; }

static void *exit_inside_the_run(void *info)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {
        .info = info, .retain = lifetime_retain, .release = lifetime_release, .perform = exit_thread};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRelease(source);
    RLRunLoopPerformFunctionWithRelease(loop, RLSTR("never run"), do_nothing, NULL, count_exit_release);
    RLRunLoopRun();
    return NULL;
}

START_TEST(pthread_exit_in_a_callback_ends_thread_and_loop)
{
    struct lifetime life = {0};
    join_thread(start_thread(exit_inside_the_run, &life));
    ck_assert_int_eq(exit_releases, 1);
    /* What the interrupted callback held is lost with its stack at worst, but must not be released twice. */
    ck_assert_int_ge(lifetime_held(&life), 0);
}
END_TEST

static void note_release(void *info) { note(info); }

static void queue_another_and_exit(UNUSED void *info)
{
    RLRunLoopPerformFunctionWithRelease(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, do_nothing, "4", note_release);
    pthread_exit(NULL);
}

static void *exit_in_the_first_of_three(UNUSED void *info)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopDefaultMode, queue_another_and_exit, "1", note_release);
    RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopDefaultMode, do_nothing, "2", note_release);
    RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopDefaultMode, do_nothing, "3", note_release);
    RLRunLoopRun();
    return NULL;
}

START_TEST(functions_of_an_exiting_thread_are_released_in_the_order_of_the_queue)
{
    join_thread(start_thread(exit_in_the_first_of_three, NULL));
    assert_notes("1 2 3 4");
}
END_TEST

/* -- Callbacks that end the thread while its loop is torn down -- */

enum { IN_CANCEL, IN_RELEASE_OF_A_TIMER, IN_RELEASE_OF_A_FUNCTION, ENDS };
static int ending;
static struct lifetime torn_life;
static atomic_int torn[ENDS];
static int torn_pipe[2];

static void tear(int where)
{
    torn[where]++;
    if (where == ending)
        pthread_exit(NULL);
}

static void tear_in_cancel(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { tear(IN_CANCEL); }

static void tear_in_release(const void *info)
{
    lifetime_release(info);
    tear(IN_RELEASE_OF_A_TIMER);
}

static void tear_in_function(UNUSED void *info) { tear(IN_RELEASE_OF_A_FUNCTION); }

static void *exit_with_torn_items(UNUSED void *info)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {
        .info = &torn_life, .retain = lifetime_retain, .release = lifetime_release, .cancel = tear_in_cancel};
    RLRunLoopTimerContext timer_context = {.info = &torn_life, .retain = lifetime_retain, .release = tear_in_release};
    for (int i = 0; i < 2; i++) {
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, i, &context);
        RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
        RLRelease(source);
        RLRunLoopTimerRef timer =
            RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 60, 0, 0, 0, ignore_timer, &timer_context);
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
        RLRelease(timer);
        RLRunLoopPerformFunctionWithRelease(loop, RLSTR("never run"), do_nothing, NULL, tear_in_function);
    }
    struct watch watch = {0};
    watch_fd(&watch, torn_pipe[0], 0); /* so that the loop has descriptors of its own */
    RLRelease(watch.source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, false);
    return NULL;
}

/* No more than two callbacks end a thread: ThreadSanitizer does not survive more. */
START_TEST(callbacks_that_end_an_exiting_thread_leave_nothing_behind)
{
    make_pipe(torn_pipe);
    int before = open_descriptors();
    ending = _i;
    for (int round = 1; round <= 10; round++) {
        join_thread(start_thread(exit_with_torn_items, NULL));
        for (int where = 0; where < ENDS; where++)
            ck_assert_int_eq(torn[where], 2 * round);
    }
    ck_assert_int_eq(lifetime_held(&torn_life), 0);
    ck_assert_int_eq(open_descriptors(), before);
    close_pipe(torn_pipe);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-dying");
    TCase *tcase = add_case(suite, "exiting", 60);
    tcase_add_test(tcase, loops_end_while_other_threads_use_them);
    tcase_add_test(tcase, callbacks_of_an_exiting_thread_may_use_its_loop);
    tcase_add_test(tcase, functions_of_an_exiting_thread_are_released_in_the_order_of_the_queue);
    tcase_add_loop_test(tcase, callbacks_that_end_an_exiting_thread_leave_nothing_behind, 0, ENDS);
    tcase_add_test(tcase, pthread_exit_in_a_callback_ends_thread_and_loop);
    return suite;
}
