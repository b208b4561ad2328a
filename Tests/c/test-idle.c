/* Checks RLRunLoopIsIdleInMode(), which returns whether a pass would find nothing to do, and the idle work that can be built on
 * it. */
#include "harness.h"

#define OTHER RLSTR("other")

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, keeper, OTHER);
}
static void tear_down(void) { drop_source(keeper); }

static bool idle(void) { return RLRunLoopIsIdleInMode(kRLRunLoopDefaultMode) != 0; }
static void run_once(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

START_TEST(a_loop_with_nothing_to_do_is_idle)
{
    ck_assert(idle());
    ck_assert(RLRunLoopIsIdleInMode(RLSTR("no such mode")));
    run_once();
    ck_assert(idle());
}
END_TEST

START_TEST(a_signalled_source_is_work_in_its_modes_only)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert(!idle());
    run_once();
    ck_assert(idle());
    /* Once the loop has checked which source is signalled, it knows that source's modes. */
    RLRunLoopSourceSignal(source);
    RLRunLoopRunInMode(OTHER, 0, 0);
    ck_assert(RLRunLoopIsIdleInMode(OTHER));
    ck_assert(!idle());
    drop_source(source);
    run_once();
    ck_assert(idle());
}
END_TEST

START_TEST(a_function_is_work)
{
    ck_assert(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL));
    ck_assert(!idle());
    ck_assert(RLRunLoopIsIdleInMode(OTHER));
    run_once();
    ck_assert(idle());
}
END_TEST

START_TEST(a_wake_up_is_work)
{
    RLRunLoopWakeUp(rl);
    ck_assert(!idle());
    run_once();
    ck_assert(idle());
}
END_TEST

START_TEST(a_timer_is_work_when_it_is_due)
{
    atomic_int fired = 0;
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert(idle());
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() - 1);
    ck_assert(!idle());
    ck_assert(RLRunLoopIsIdleInMode(OTHER));
    RLRunLoopTimerSetTolerance(timer, 1e6); /* the loop would not wake up for the timer yet */
    ck_assert(idle());
    run_once();
    ck_assert_int_eq(fired, 1);
    ck_assert(idle());
    drop_timer(timer);
}
END_TEST

START_TEST(a_readable_descriptor_is_work)
{
    int ends[2];
    make_pipe(ends);
    struct watch watch = {.reads = true};
    watch_fd(&watch, ends[0], 0);
    ck_assert(idle());
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert(!idle());
    run_once();
    ck_assert_int_eq(watch.performed, 1);
    ck_assert(idle());
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

/* epoll reports a ready descriptor whichever mode its source is in. Once a run of another mode has seen it, it does not count as
 * work there. */
START_TEST(a_readable_descriptor_of_another_mode_is_no_work_once_noticed)
{
    int ends[2];
    make_pipe(ends);
    struct watch watch = {.reads = true}, own = {.fd = -1};
    int own_ends[2];
    make_pipe(own_ends);
    watch_fd(&own, own_ends[0], 0);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopRemoveSource(rl, watch.source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, watch.source, OTHER);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    run_once();
    ck_assert(idle());
    ck_assert_int_eq(RLRunLoopRunInMode(OTHER, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(watch.performed, 1);
    drop_source(watch.source);
    drop_source(own.source);
    close_pipe(ends);
    close_pipe(own_ends);
}
END_TEST

struct job {
    int left;          /* parts of the work that remain */
    int other;         /* how often the source has performed */
    int behind_others; /* parts done although the source was signalled */
    RLRunLoopSourceRef source;
};

static void work_a_little(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    struct job *job = info;
    if (job->left == 0)
        return RLRunLoopStop(rl);
    if (idle()) {
        if (RLRunLoopSourceIsSignalled(job->source))
            job->behind_others++;
        job->left--;
        /* Other work turns up, which has to be done before the next part. */
        if (job->left % 2)
            RLRunLoopSourceSignal(job->source);
    }
    RLRunLoopWakeUp(rl);
}
static void note_other(void *info) { ((struct job *)info)->other++; }

START_TEST(idle_work_is_done_in_parts_when_nothing_else_is_due)
{
    struct job job = {.left = 10};
    job.source = make_source(0, note_other, &job);
    RLRunLoopAddSource(rl, job.source, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 0, work_a_little, &job);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(job.left, 0);
    ck_assert_int_eq(job.other, 5);
    ck_assert_int_eq(job.behind_others, 0);
    drop_observer(observer);
    drop_source(job.source);
}
END_TEST

static pthread_barrier_t is_added, is_over;

static void *have_source(void *source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, OTHER);
    pthread_barrier_wait(&is_added);
    pthread_barrier_wait(&is_over);
    return NULL;
}
static void signal_source(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *source)
{
    RLRunLoopSourceSignal(source);
}

/* When a source of several loops is signalled, each loop in the process finds out in its next pass whether it has that source. */
START_TEST(idle_work_continues_while_a_source_of_other_loops_is_signalled)
{
    struct job job = {.left = 10};
    RLRunLoopSourceRef theirs = make_source(0, do_nothing, NULL);
    job.source = make_source(0, note_other, &job);
    pthread_barrier_init(&is_added, NULL, 3);
    pthread_barrier_init(&is_over, NULL, 3);
    pthread_t threads[] = {start_thread(have_source, theirs), start_thread(have_source, theirs)};
    pthread_barrier_wait(&is_added);
    RLRunLoopObserverRef before = make_observer(kRLRunLoopBeforeWaiting, 0, 0, signal_source, theirs);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 1, work_a_little, &job);
    RLRunLoopAddSource(rl, job.source, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, before, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(job.left, 0);
    drop_observer(before);
    drop_observer(observer);
    drop_source(job.source);
    pthread_barrier_wait(&is_over);
    join_thread(threads[0]);
    join_thread(threads[1]);
    drop_source(theirs);
}
END_TEST

START_TEST(misuse_of_is_idle_in_mode_is_reported)
{
    ck_assert_int_eq(RLRunLoopIsIdleInMode(NULL), 0);
    assert_misuse("RLRunLoopIsIdleInMode", "mode", NULL);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("idle");
    TCase *tcase = add_case(suite, "idle", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_loop_with_nothing_to_do_is_idle);
    tcase_add_test(tcase, a_signalled_source_is_work_in_its_modes_only);
    tcase_add_test(tcase, a_function_is_work);
    tcase_add_test(tcase, a_wake_up_is_work);
    tcase_add_test(tcase, a_timer_is_work_when_it_is_due);
    tcase_add_test(tcase, a_readable_descriptor_is_work);
    tcase_add_test(tcase, a_readable_descriptor_of_another_mode_is_no_work_once_noticed);
    tcase_add_test(tcase, idle_work_is_done_in_parts_when_nothing_else_is_due);
    tcase_add_test(tcase, idle_work_continues_while_a_source_of_other_loops_is_signalled);
    tcase_add_test(tcase, misuse_of_is_idle_in_mode_is_reported);
    return suite;
}
