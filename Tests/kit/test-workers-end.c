/* RLWorkers: releasing the workers, exiting threads, fork, failure to create threads, misuse. */
#include "workers.h"
#include <dlfcn.h>

#include <sys/wait.h>

static atomic_int released;

static const void *retain_info(const void *info) { return info; }
static void release_info(UNUSED const void *info) { released++; }

START_TEST(the_last_release_of_workers_cancels_and_waits)
{
    struct job jobs[4] = {0};
    for (int i = 0; i < 4; i++) {
        RLWorkContext context = {.info = &jobs[i], .retain = retain_info, .release = release_info};
        jobs[i].work = RLWorkCreate(NULL, 0, i < 2 ? wait_in_job : do_job, job_is_done, &context);
        ck_assert(RLWorkersSubmit(workers, jobs[i].work));
        RLRelease(jobs[i].work);
    }
    await_count(&begun, 2);
    RLRetain(workers);
    RLRelease(workers); /* not the last reference */
    gate_open(&hold);
    gate_open(&hold);
    RLRelease(workers);
    workers = NULL;
    ck_assert(jobs[0].calls == 1 && jobs[1].calls == 1);
    ck_assert_int_eq(released, 4);
}
END_TEST

static atomic_int has_released;

static void *release_until_cancelled(UNUSED void *info)
{
    pthread_cancel(pthread_self());
    RLRelease(workers);
    has_released = 1;
    pthread_testcancel();
    return NULL;
}

/* Releasing workers is no cancellation point, although it waits for their threads: a thread that ended there would leave them behind. */
START_TEST(a_thread_is_not_cancelled_while_it_waits_for_workers)
{
    struct job job = {0};
    submit(&job, wait_in_job);
    await_count(&begun, 1);
    pthread_t thread = start_thread(release_until_cancelled, NULL);
    void *result = NULL;
    gate_open(&hold);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    workers = NULL;
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    ck_assert_int_eq(has_released, 1);
    drop_jobs(&job, 1);
}
END_TEST

static void release_workers(RLWorkRef work, void *info)
{
    RLRelease(workers);
    do_job(work, info);
}

START_TEST(workers_may_be_released_by_one_of_them)
{
    struct job jobs[2] = {0};
    submit(&jobs[0], do_job);
    submit(&jobs[1], release_workers);
    run_until_finished();
    workers = NULL;
    ck_assert_int_eq(jobs[1].completed, 1);
    drop_jobs(jobs, 2);
}
END_TEST

START_TEST(a_work_function_may_end_its_thread)
{
    static struct job jobs[40];
    for (int i = 0; i < 40; i++) {
        jobs[i].ends_thread = i % 3 != 0;
        submit(&jobs[i], do_job);
    }
    run_until_finished();
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(jobs[i].completed, 1);
    drop_jobs(jobs, 40);
}
END_TEST

static void look_at_signals(UNUSED RLWorkRef work, void *info)
{
    sigset_t mask;
    require(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
    *(bool *)info = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGTERM);
    pthread_cancel(pthread_self());
    sched_yield();
    pthread_testcancel();
}

START_TEST(worker_threads_block_signals_and_cancellation)
{
    bool are_blocked = false;
    RLWorkContext context = {.info = &are_blocked};
    RLWorkRef work = add(RLWorkCreate(NULL, 0, look_at_signals, NULL, &context));
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, NULL, &before);
    ck_assert(RLWorkersSubmit(workers, work));
    run_until_finished();
    sigprocmask(SIG_SETMASK, NULL, &after);
    ck_assert(are_blocked && memcmp(&before, &after, sizeof(uint64_t)) == 0);
    RLRelease(work);
}
END_TEST

static void use_in_child(void *info)
{
    struct job *parents = info, job = {0};
    make_job(&job, do_job);
    child_assert(!RLWorkersSubmit(workers, job.work) && errno == ESRCH);
    RLRelease(workers); /* does not wait for threads that do not exist here */
    RLWorkersRef own = RLWorkersCreate(NULL, 1);
    child_assert(RLWorkersSubmit(own, job.work));
    RLWorkCancel(parents->work);
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunFinished);
    child_assert(job.completed == 1);
    RLRelease(own);
}

/* The first process of a PID namespace has workers. Its child is the first process of another namespace, so it has
 * the same ID. */
static void use_as_first(void *info)
{
    child_assert(getpid() == 1);
    use_in_child(info);
}
static void have_the_number_of_the_parent(UNUSED void *info)
{
    struct job job = {0};
    child_assert(getpid() == 1);
    RLRelease(workers);
    workers = RLWorkersCreate(NULL, 1);
    submit(&job, do_job);
    run_until_finished();
    child_assert(unshare(CLONE_NEWPID) == 0);
    child_assert(run_in_child(use_as_first, &job) == 0);
}
static void enter_namespace(UNUSED void *info)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        _exit(77);
    int status = run_in_child(have_the_number_of_the_parent, NULL);
    _exit(status);
}
START_TEST(a_forked_child_may_have_the_process_id_of_its_parent)
{
    int status = run_in_child(enter_namespace, NULL);
    ck_assert(status == 0 || status == 77); /* 77: namespaces are not permitted here */
}
END_TEST

START_TEST(the_child_of_a_fork_has_no_workers_and_may_create_some)
{
    struct job job = {0};
    submit(&job, wait_in_job);
    await_count(&begun, 1);
    ck_assert_int_eq(run_in_child(use_in_child, &job), 0);
    gate_open(&hold);
    run_until_finished();
    ck_assert_int_eq(job.completed, 1);
    RLRelease(job.work);
}
END_TEST

static pid_t parent;
static void end_child(void) { _exit(0); }
static void fork_and_return(RLWorkRef work, void *info)
{
    wait_in_job(work, info);
    pid_t child = fork_child();
    if (child == 0)
        require(atexit(end_child) == 0); /* called before the handlers that this process has inherited */
    else {
        int status;
        require(waitpid(child, &status, 0) == child && status == 0);
    }
}
static void work_in_parent(RLWorkRef work, void *info)
{
    if (getpid() != parent)
        _exit(1);
    do_job(work, info);
}

START_TEST(a_work_function_that_forks_and_returns_ends_the_child)
{
    struct job jobs[2] = {0};
    if (THREAD_SANITIZED) /* it has given up the thread before exit() is called, and crashes */
        return;
    RLRelease(workers);
    workers = RLWorkersCreate(NULL, 1);
    parent = getpid();
    submit(&jobs[0], fork_and_return);
    submit(&jobs[1], work_in_parent);
    gate_open(&hold);
    run_until_finished();
    ck_assert(jobs[0].completed == 1 && jobs[1].completed == 1);
    drop_jobs(jobs, 2);
}
END_TEST

START_TEST(work_is_refused_if_no_thread_can_be_created)
{
    struct job jobs[2] = {0};
    struct rlimit usual, none = {0, RLIM_INFINITY};
    if (geteuid() == 0) /* root is exempt from the limit */
        require(setresuid(12345, 12345, 12345) == 0);
    require(getrlimit(RLIMIT_NPROC, &usual) == 0);
    none.rlim_max = usual.rlim_max;
    make_job(&jobs[0], do_job);
    require(setrlimit(RLIMIT_NPROC, &none) == 0);
    ck_assert(!RLWorkersSubmit(workers, jobs[0].work) && errno == EAGAIN);
    require(setrlimit(RLIMIT_NPROC, &usual) == 0);
    ck_assert(RLWorkersSubmit(workers, jobs[0].work));
    ck_assert(!RLWorkersSubmit(workers, jobs[0].work) && (errno == EALREADY || errno == ECANCELED));
    run_until_finished();
    require(setrlimit(RLIMIT_NPROC, &none) == 0);
    submit(&jobs[1], do_job); /* there is one thread */
    run_until_finished();
    require(setrlimit(RLIMIT_NPROC, &usual) == 0);
    drop_jobs(jobs, 2);
}
END_TEST

/* -- Misuse -- */

static RLIndex limit;
static void create_workers(void) { ck_assert_ptr_null(RLWorkersCreate(NULL, limit)); }
static void create_work(void) { ck_assert_ptr_null(RLWorkCreate(NULL, 0, NULL, NULL, NULL)); }
static void create_version(void)
{
    RLWorkContext context = {.version = 1};
    ck_assert_ptr_null(RLWorkCreate(NULL, 0, do_job, NULL, &context));
}
static void submit_workers(void) { ck_assert(!RLWorkersSubmit(workers, workers)); }
static void submit_to_null(void) { ck_assert(!RLWorkersSubmit(NULL, NULL)); }
static void cancel_workers(void) { ck_assert(!RLWorkCancel(workers)); }

START_TEST(wrong_arguments_of_worker_functions_are_reported)
{
    for (limit = -1; limit <= 1025; limit += limit == 0 ? 1025 : 1)
        assert_reports(create_workers, "runloop: RLWorkersCreate: limit: must be from 1 to 1024");
    assert_reports(create_work, "runloop: RLWorkCreate: function: expected a function, got NULL");
    assert_reports(create_version, "runloop: RLWorkCreate: context: version must be 0");
    assert_reports(submit_workers, "runloop: RLWorkersSubmit: work: expected RLWork, got RLWorkers");
    assert_reports(submit_to_null, "runloop: RLWorkersSubmit: workers: expected RLWorkers, got NULL");
    assert_reports(cancel_workers, "runloop: RLWorkCancel: work: expected RLWork, got RLWorkers");
}
END_TEST

#if !SANITIZED
/* The kit calls this function instead of libc's. A sanitizer would not know the threads. */
static atomic_int refusals;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (atomic_load(&refusals) > 0 && atomic_fetch_sub(&refusals, 1) > 0)
        return EAGAIN;
    if (real == NULL)
        real =
            (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, body, argument);
}

static void end_thread_refused(UNUSED RLWorkRef work, UNUSED void *info)
{
    atomic_store(&refusals, 3);
    pthread_exit(NULL);
}
static void count_work(UNUSED RLWorkRef work, void *info) { atomic_fetch_add((atomic_int *)info, 1); }

START_TEST(queued_work_continues_as_soon_as_a_thread_can_be_created)
{
    atomic_int done = 0;
    RLWorkContext context = {.info = &done};
    RLWorkersRef workers = RLWorkersCreate(NULL, 1);
    RLWorkRef works[2] = {RLWorkCreate(NULL, 0, end_thread_refused, NULL, &context),
                          RLWorkCreate(NULL, 0, count_work, count_work, &context)};
    for (int i = 0; i < 2; i++) {
        add(works[i]);
        ck_assert(RLWorkersSubmit(workers, works[i]));
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(done, 2);
    ck_assert_int_le(refusals, 0);
    for (int i = 0; i < 2; i++)
        RLRelease(works[i]);
    RLRelease(workers);
}
END_TEST
#endif

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("workers end");
    TCase *all = add_case(suite, "workers", 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, the_last_release_of_workers_cancels_and_waits);
#if !SANITIZED
    tcase_add_test(all, queued_work_continues_as_soon_as_a_thread_can_be_created);
#endif
    tcase_add_test(all, a_thread_is_not_cancelled_while_it_waits_for_workers);
    tcase_add_test(all, workers_may_be_released_by_one_of_them);
    tcase_add_test(all, a_work_function_may_end_its_thread);
    tcase_add_test(all, worker_threads_block_signals_and_cancellation);
    tcase_add_test(all, the_child_of_a_fork_has_no_workers_and_may_create_some);
    tcase_add_test(all, a_forked_child_may_have_the_process_id_of_its_parent);
    tcase_add_test(all, a_work_function_that_forks_and_returns_ends_the_child);
    tcase_add_test(all, work_is_refused_if_no_thread_can_be_created);
    tcase_add_test(all, wrong_arguments_of_worker_functions_are_reported);
    return suite;
}
