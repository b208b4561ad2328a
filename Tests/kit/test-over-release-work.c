/* One RLRelease() too many of a work item or a host look-up, while workers still have references of their own to it: that is reported
 * once, and nothing is used after it was freed. What was released too often may stay allocated for ever. */
#include "over-release.h"
#include "workers.h"

static atomic_int calls, ended;

static void count_call(UNUSED RLWorkRef work, UNUSED void *info) { calls++; }

static void count_call_when_let(UNUSED RLWorkRef work, UNUSED void *info)
{
    begun++;
    gate_pass(&hold);
    ended++;
}

static void never_done(UNUSED RLWorkRef work, UNUSED void *info) { require(!"completed after it was freed"); }

/* The handles of new objects may have the addresses of those that were freed. */
static void reuse_memory(void)
{
    RLRunLoopSourceRef others[8];
    for (int i = 0; i < 8; i++)
        others[i] = make_source(0, do_nothing, NULL);
    for (int i = 0; i < 8; i++)
        drop_source(others[i]);
}

static RLWorkRef submit_alone(RLWorkFunction function)
{
    IGNORE_LEAKS();
    RLWorkRef work = RLWorkCreate(NULL, 0, function, never_done, NULL);
    ck_assert(RLWorkersSubmit(workers, work));
    return work;
}

/* Occupies both workers, so that what is submitted next waits for its turn. */
static void occupy_workers(void)
{
    for (int i = 0; i < 2; i++)
        RLRelease(submit_alone(count_call_when_let));
    await_count(&begun, 2);
}

static void release_twice(RLTypeRef object)
{
    RLRelease(object);
    ck_assert_int_eq(take_diagnostics(), 0);
    RLRelease(object);
    assert_over_release();
    reuse_memory();
}

static void let_workers_end(void)
{
    gate_open(&hold);
    gate_open(&hold);
    RLRelease(workers);
    workers = NULL;
    ck_assert_int_eq(ended, 2);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(take_diagnostics(), 0);
}

START_TEST(work_that_waits_for_its_turn)
{
    occupy_workers();
    release_twice(submit_alone(count_call));
    let_workers_end();
}
END_TEST

static void *let_workers_end_when_dropped(void *work)
{
    while (RLRunLoopSourceIsValid(work))
        sched_yield();
    gate_open(&hold);
    gate_open(&hold);
    return NULL;
}

START_TEST(work_that_waits_when_the_workers_are_released)
{
    occupy_workers();
    release_twice(submit_alone(count_call));
    RLWorkRef last = submit_alone(count_call);
    pthread_t thread = start_thread(let_workers_end_when_dropped, last);
    RLRelease(workers);
    workers = NULL;
    pthread_join(thread, NULL);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(take_diagnostics(), 0);
    RLRelease(last);
}
END_TEST

START_TEST(work_that_is_running)
{
    RLWorkRef work = submit_alone(count_call_when_let);
    RLRelease(submit_alone(count_call_when_let));
    await_count(&begun, 2);
    release_twice(work);
    let_workers_end();
}
END_TEST

START_TEST(work_that_was_removed_from_its_loop_before_its_completion)
{
    RLWorkRef work = RLWorkCreate(NULL, 0, count_call, never_done, NULL);
    IGNORE_LEAKS();
    add(work);
    ck_assert(RLWorkersSubmit(workers, work));
    await_count(&calls, 1);
    RLRelease(workers); /* the function has returned, and its worker has posted the completion */
    workers = NULL;
    ck_assert_int_eq(calls, 1);
    RLRelease(work);
    RLRelease(work);
    RLRunLoopRemoveSource(main_loop, work, kRLRunLoopDefaultMode);
    assert_over_release();
    reuse_memory();
    run_passes();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

static void never_resolved(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error,
                           UNUSED void *info)
{
    require(!"called after it was freed");
}

static RLHostResolveRef submit_look_up(double timeout)
{
    IGNORE_LEAKS();
    RLHostResolveRef resolve = RLHostResolveCreate(NULL, "127.0.0.1", NULL, NULL, timeout, never_resolved, NULL);
    ck_assert(RLWorkersSubmit(workers, resolve));
    return resolve;
}

START_TEST(a_host_look_up_that_waits_for_its_turn)
{
    occupy_workers();
    release_twice(submit_look_up(10));
    let_workers_end();
}
END_TEST

START_TEST(a_host_look_up_with_a_timer_that_leaves_its_loop)
{
    occupy_workers();
    RLHostResolveRef resolve = submit_look_up(10);
    add(resolve);
    for (int i = 0; i < 3; i++)
        RLRelease(resolve); /* the references of the program, of the queue and of the timer */
    RLRunLoopRemoveSource(main_loop, resolve, kRLRunLoopDefaultMode);
    assert_over_release();
    reuse_memory();
    let_workers_end();
}
END_TEST

START_TEST(a_host_look_up_with_a_timer_alone)
{
    IGNORE_LEAKS();
    RLHostResolveRef resolve = RLHostResolveCreate(NULL, "127.0.0.1", NULL, NULL, 10, never_resolved, NULL);
    add(resolve);
    for (int i = 0; i < 2; i++)
        RLRelease(resolve); /* the references of the program and of the timer */
    RLRunLoopSourceInvalidate(resolve);
    assert_over_release();
    reuse_memory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("over-release-work");
    TCase *all = add_case(suite, "over-release-work", 20);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, work_that_waits_for_its_turn);
    tcase_add_test(all, work_that_waits_when_the_workers_are_released);
    tcase_add_test(all, work_that_is_running);
    tcase_add_test(all, work_that_was_removed_from_its_loop_before_its_completion);
    tcase_add_test(all, a_host_look_up_that_waits_for_its_turn);
    tcase_add_test(all, a_host_look_up_with_a_timer_that_leaves_its_loop);
    tcase_add_test(all, a_host_look_up_with_a_timer_alone);
    return suite;
}
