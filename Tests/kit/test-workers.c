/* RLWorkers: completion on loops, the limit, the order, cancellation. */
#include "workers.h"

START_TEST(work_runs_on_a_thread_and_completes_on_the_loop)
{
    struct job job = {0};
    submit(&job, do_job);
    run_until_finished();
    ck_assert_int_eq(job.completed, 1);
    await_workers(1);
    RLRelease(job.work);
}
END_TEST

enum { many = 200 };
START_TEST(all_work_completes_once)
{
    static struct job jobs[many];
    for (int i = 0; i < many; i++)
        submit(&jobs[i], do_job);
    run_until_finished();
    for (int i = 0; i < many; i++)
        ck_assert_int_eq(jobs[i].completed, 1);
    ck_assert_int_le(live_workers(), 2);
    drop_jobs(jobs, many);
}
END_TEST

START_TEST(completion_waits_for_its_mode)
{
    struct job job = {0};
    RLRunLoopMode other = RLSTR("other");
    RLWorkContext context = {.info = &job};
    job.work = RLWorkCreate(NULL, 0, do_job, job_is_done, &context);
    ck_assert(RLWorkersSubmit(workers, job.work));
    await_count(&job.calls, 1);
    RLRunLoopAddSource(main_loop, job.work, other);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(job.completed, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(other, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(job.completed, 1);
    RLRelease(job.work);
}
END_TEST

static void add_to_loop(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *work)
{
    RLRunLoopAddSource(main_loop, work, kRLRunLoopDefaultMode);
}

START_TEST(finished_work_completes_although_it_is_added_just_before_the_loop_sleeps)
{
    struct job job = {0};
    RLWorkContext context = {.info = &job};
    job.work = RLWorkCreate(NULL, 0, do_job, job_is_done, &context);
    ck_assert(RLWorkersSubmit(workers, job.work));
    await_count(&job.calls, 1);
    RLRelease(workers); /* waits until the function has returned */
    workers = NULL;
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(main_loop, keeper, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, false, 0, add_to_loop, job.work);
    RLRunLoopAddObserver(main_loop, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(job.completed, 1);
    drop_observer(observer);
    drop_source(keeper);
    RLRelease(job.work);
}
END_TEST

enum { REPORTS = 200 };
static int reports;
static bool reports_are_slow;
static struct job next;

static void count_report(UNUSED void *info)
{
    reports++;
    if (reports_are_slow)
        spin_until(RLAbsoluteTimeGetCurrent() + 5e-5);
}

static void report_progress(RLWorkRef work, void *info)
{
    for (int i = 0; i < REPORTS; i++)
        require(RLRunLoopPostFunction(main_loop, kRLRunLoopDefaultMode, count_report, NULL));
    do_job(work, info);
}

/* Keeps the loop in its functions until the work is complete, so that its source can be signalled before the loop calls
 * the functions that the work has posted. */
static void await_next(UNUSED void *info) { await_count(&next.calls, 1); }

static void note_reports(UNUSED RLWorkRef work, void *info)
{
    require(reports == REPORTS);
    ((struct job *)info)->completed++;
}

/* The loop may be idle, busy, or need several passes for the functions. The work may be in several modes and loops. */
START_TEST(progress_is_reported_before_completion)
{
    struct job job = {0};
    struct looper looper = {0};
    RLWorkContext context = {.info = &job};
    job.work = add(RLWorkCreate(NULL, 0, report_progress, note_reports, &context));
    reports_are_slow = _i == 2;
    if (_i == 1)
        require(RLRunLoopPostFunction(main_loop, kRLRunLoopDefaultMode, await_next, NULL));
    if (_i >= 3)
        RLRunLoopAddSource(main_loop, job.work, RLSTR("other"));
    if (_i == 4) {
        looper_start(&looper);
        RLRunLoopAddSource(looper.loop, job.work, RLSTR("other"));
    }
    RLWorkersRef single = RLWorkersCreate(NULL, 1);
    ck_assert(RLWorkersSubmit(single, job.work));
    next.work = RLWorkCreate(NULL, 0, do_job, NULL, &(RLWorkContext){.info = &next});
    ck_assert(RLWorkersSubmit(single, next.work));
    run_until_finished();
    ck_assert_int_eq(job.completed, 1);
    RLRelease(single);
    RLRelease(job.work);
    RLRelease(next.work);
    if (_i == 4)
        looper_stop(&looper);
}
END_TEST

/* When the work is complete, its loop is to call its completion in a mode that the work has left. */
START_TEST(a_complete_work_may_be_moved_to_another_mode_or_loop)
{
    struct job job = {0};
    struct looper looper = {0};
    looper_start(&looper);
    make_job(&job, do_job);
    next.work = RLWorkCreate(NULL, 0, do_job, NULL, &(RLWorkContext){.info = &next});
    RLWorkersRef single = RLWorkersCreate(NULL, 1);
    ck_assert(RLWorkersSubmit(single, job.work) && RLWorkersSubmit(single, next.work));
    await_count(&next.calls, 1);
    RLRunLoopRemoveSource(main_loop, job.work, kRLRunLoopDefaultMode);
    if (_i == 0) {
        RLRunLoopAddSource(main_loop, job.work, RLSTR("other"));
        ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 1e10, 0), kRLRunLoopRunFinished);
    } else {
        RLRunLoopAddSource(looper.loop, job.work, kRLRunLoopDefaultMode);
        while (RLRunLoopSourceIsValid(job.work))
            sched_yield();
    }
    looper_stop(&looper);
    ck_assert_int_eq(job.completed, 1);
    RLRelease(single);
    RLRelease(job.work);
    RLRelease(next.work);
}
END_TEST

START_TEST(work_without_a_completion_ends_its_run)
{
    struct job job = {0};
    RLWorkContext context = {.info = &job};
    job.work = RLWorkCreate(NULL, 0, do_job, NULL, &context);
    add(job.work);
    ck_assert(RLWorkersSubmit(workers, job.work));
    run_until_finished();
    ck_assert_int_eq(job.calls, 1);
    RLRelease(job.work);
}
END_TEST

static void *complete_on_a_thread(void *info)
{
    struct job *jobs = info;
    for (int i = 0; i < SCALED(50); i++)
        submit(&jobs[i], do_job);
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunFinished);
    return NULL;
}

START_TEST(several_loops_share_workers)
{
    static struct job jobs[4][50];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(complete_on_a_thread, jobs[i]);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < SCALED(50); j++)
            ck_assert_int_eq(jobs[i][j].completed, 1);
        drop_jobs(jobs[i], SCALED(50));
    }
}
END_TEST

/* -- The limit and the order -- */

START_TEST(no_more_work_runs_at_once_than_the_limit)
{
    struct job jobs[5] = {0};
    for (int i = 0; i < 5; i++)
        submit(&jobs[i], wait_in_job);
    await_count(&begun, 2);
    await_workers(2);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_le(begun, 2 + i);
        gate_open(&hold);
    }
    run_until_finished();
    ck_assert_int_eq(begun, 5);
    drop_jobs(jobs, 5);
}
END_TEST

START_TEST(a_single_worker_thread_keeps_the_order)
{
    struct job jobs[4] = {{.name = "one"}, {.name = "two"}, {.name = "three"}, {.name = "four"}};
    RLWorkersRef one = RLWorkersCreate(NULL, 1);
    for (int i = 0; i < 4; i++) {
        make_job(&jobs[i], do_job);
        ck_assert(RLWorkersSubmit(one, jobs[i].work));
    }
    run_until_finished();
    ck_assert_str_eq(notes, "one two three four");
    RLRelease(one);
    drop_jobs(jobs, 4);
}
END_TEST

/* -- Cancellation -- */

START_TEST(work_that_has_not_begun_can_be_cancelled)
{
    struct job jobs[5] = {0};
    make_job(&jobs[4], do_job);
    ck_assert(RLWorkCancel(jobs[4].work)); /* not even submitted */
    ck_assert(!RLWorkersSubmit(workers, jobs[4].work) && errno == ECANCELED);
    for (int i = 0; i < 4; i++)
        submit(&jobs[i], wait_in_job);
    await_count(&begun, 2);
    ck_assert(!RLWorkCancel(jobs[0].work)); /* it is running */
    ck_assert(RLWorkCancel(jobs[2].work));
    ck_assert(!RLWorkCancel(jobs[2].work));
    RLRunLoopSourceInvalidate(jobs[3].work);
    ck_assert(!RLWorkCancel(jobs[3].work)); /* it was cancelled */
    gate_open(&hold);
    gate_open(&hold);
    run_until_finished();
    RLRelease(workers); /* all have finished */
    workers = NULL;
    ck_assert_int_eq(begun, 2);
    ck_assert(jobs[0].calls == 1 && jobs[0].completed == 0);
    ck_assert(jobs[1].completed == 1 && jobs[2].completed == 0 && jobs[3].completed == 0);
    drop_jobs(jobs, 5);
}
END_TEST

static void look_whether_wanted(RLWorkRef work, void *info)
{
    begun++;
    while (RLRunLoopSourceIsValid(work))
        sched_yield();
    do_job(work, info);
}

static void count_begun(UNUSED RLWorkRef work, UNUSED void *info) { begun++; }
static void never_completed(UNUSED RLWorkRef work, UNUSED void *info) { require(!"completed"); }

START_TEST(work_that_is_done_in_a_mode_that_does_not_run_is_freed_when_it_is_cancelled)
{
    struct lifetime life = {0};
    RLWorkContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLWorkRef work = RLWorkCreate(NULL, 0, count_begun, never_completed, &context);
    RLRunLoopAddSource(main_loop, work, RLSTR("never"));
    ck_assert(RLWorkersSubmit(workers, work));
    await_count(&begun, 1);
    RLRelease(workers); /* waits until the function has returned and its completion is posted */
    workers = NULL;
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRunLoopSourceInvalidate(work);
    RLRelease(work);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(running_work_can_notice_that_it_is_cancelled)
{
    struct job job = {0};
    submit(&job, look_whether_wanted);
    await_count(&begun, 1);
    ck_assert(!RLWorkCancel(job.work));
    await_count(&job.calls, 1);
    RLRelease(job.work);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("workers");
    TCase *all = add_case(suite, "workers", 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, work_runs_on_a_thread_and_completes_on_the_loop);
    tcase_add_test(all, all_work_completes_once);
    tcase_add_test(all, completion_waits_for_its_mode);
    tcase_add_test(all, finished_work_completes_although_it_is_added_just_before_the_loop_sleeps);
    tcase_add_loop_test(all, progress_is_reported_before_completion, 0, 5);
    tcase_add_loop_test(all, a_complete_work_may_be_moved_to_another_mode_or_loop, 0, 2);
    tcase_add_test(all, work_without_a_completion_ends_its_run);
    tcase_add_test(all, several_loops_share_workers);
    tcase_add_test(all, no_more_work_runs_at_once_than_the_limit);
    tcase_add_test(all, a_single_worker_thread_keeps_the_order);
    tcase_add_test(all, work_that_has_not_begun_can_be_cancelled);
    tcase_add_test(all, work_that_is_done_in_a_mode_that_does_not_run_is_freed_when_it_is_cancelled);
    tcase_add_test(all, running_work_can_notice_that_it_is_cancelled);
    return suite;
}
