/* Checks that the library has no cancellation points: a pthread_cancel() takes effect only when the thread is in its own code. So
 * it leaves no wake-up half made, no lock held, and no loop that looks alive. */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

static RLRunLoopRef loop;
static int ends[2];
static gate ready;
static pid_t loop_tid;

static void set_up(void)
{
    gate_init(&ready);
    make_pipe(ends);
}

static int port(UNUSED void *info) { return ends[0]; }

static void add_descriptor(void)
{
    RLRunLoopSourceRef source = make_port_source(0, port, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
}

static void *run_with_descriptor(UNUSED void *info)
{
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    loop_tid = (pid_t)syscall(SYS_gettid);
    add_descriptor();
    gate_open(&ready);
    RLRunLoopRun();
    pthread_testcancel();
    return NULL;
}

/* -- A cancelled thread wakes a loop -- */

static atomic_int ran;

static void *post_when_cancelled(UNUSED void *info)
{
    pthread_cancel(pthread_self());
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, count_perform, &ran);
    pthread_testcancel();
    return NULL;
}

static void *wake_when_cancelled(UNUSED void *info)
{
    RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, count_perform, &ran);
    pthread_cancel(pthread_self());
    RLRunLoopWakeUp(loop);
    pthread_testcancel();
    return NULL;
}

static void wake_by_cancelled_thread(void *(*body)(void *))
{
    pthread_t sleeper = start_thread(run_with_descriptor, NULL);
    gate_pass(&ready);
    for (int round = 1; round <= 20; round++) {
        void *result;
        await_waiting(loop);
        pthread_t waker = start_thread(body, NULL);
        ck_assert_int_eq(pthread_join(waker, &result), 0);
        ck_assert(result == PTHREAD_CANCELED);
        await_count(&ran, round);
    }
    ck_assert(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, stop_current, NULL));
    join_thread(sleeper);
    RLRelease(loop);
    close_pipe(ends);
}

START_TEST(a_post_of_a_cancelled_thread_wakes_the_loop) { wake_by_cancelled_thread(post_when_cancelled); }
END_TEST

START_TEST(a_wakeup_of_a_cancelled_thread_wakes_the_loop) { wake_by_cancelled_thread(wake_when_cancelled); }
END_TEST

/* -- A cancellation that is pending when the thread ends -- */

static void *end_when_cancelled(UNUSED void *info)
{
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    add_descriptor();
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    pthread_cancel(pthread_self());
    return NULL; /* the loop is torn down with the cancellation pending */
}

static void use_loop_in_child(UNUSED void *info)
{
    child_assert(!RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, do_nothing, NULL));
}

START_TEST(a_thread_that_ends_with_a_pending_cancellation_tears_its_loop_down)
{
    int descriptors = open_descriptors();
    pthread_t thread = start_thread(end_when_cancelled, NULL);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(open_descriptors(), descriptors);
    ck_assert_int_eq(run_in_child(use_loop_in_child, NULL), 0); /* fork() takes the locks of all loops */
    RLRelease(loop);
    close_pipe(ends);
}
END_TEST

/* -- A thread that is cancelled while it sleeps -- */

static bool is_over(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)loop_tid);
    return access(path, F_OK) != 0;
}

static char state_of_loop_thread(long *switches)
{
    char path[64], line[128], state = 'X';
    *switches = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)loop_tid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", switches);
    }
    if (status)
        fclose(status);
    return state;
}

static void ignore_signal(UNUSED int number) {}

/* Interrupts the sleep, and returns when the thread sleeps again or has exited. */
static void disturb(pthread_t thread)
{
    long before, now;
    struct sigaction action = {.sa_handler = ignore_signal};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    while (state_of_loop_thread(&before) != 'S')
        sched_yield();
    ck_assert_int_eq(pthread_cancel(thread), 0);
    pthread_kill(thread, SIGUSR1);
    while (!is_over() && (state_of_loop_thread(&now) != 'S' || now <= before))
        sched_yield();
}

static void *count_sleeps(void *info)
{
    add_descriptor();
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 0, count_activity, info);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    require(!RLRunLoopIsWaiting(RLRunLoopGetCurrent()));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    RLRelease(observer);
    return NULL;
}

START_TEST(a_thread_cancelled_while_asleep_tears_its_loop_down)
{
    void *result;
    atomic_int sleeps = 0;
    pthread_t thread = start_thread(run_with_descriptor, NULL);
    gate_pass(&ready);
    await_waiting(loop);
    disturb(thread);
    if (!is_over())
        RLRunLoopStop(loop);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert(result == PTHREAD_CANCELED);
    ck_assert(!RLRunLoopIsWaiting(loop));
    errno = 0;
    ck_assert(!RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, do_nothing, NULL));
    ck_assert_int_eq(errno, ESRCH);
    RLRunLoopWakeUp(loop);
    RLRelease(loop);
    join_thread(start_thread(count_sleeps, &sleeps)); /* its loop reuses the memory */
    ck_assert_int_ge(sleeps, 1);
    ck_assert_int_le(sleeps, 3);
    close_pipe(ends);
}
END_TEST

/* -- How to end a sleeping thread: RLBase.h, "Threads" -- */

static void *run_with_timer(UNUSED void *info)
{
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    RLRunLoopTimerRef timer = make_timer(HUGE_VAL, 0, count_timer, NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode); /* the loop sleeps in a futex */
    RLRelease(timer);
    gate_open(&ready);
    RLRunLoopRun();
    return NULL;
}

static void test_cancel(void *info)
{
    count_perform(info);
    pthread_testcancel();
    count_perform(info);
}

static void cancel_in_callback(void *(*body)(void *))
{
    void *result;
    struct lifetime life = {0};
    atomic_int called = 0;
    pthread_t thread = start_thread(body, NULL);
    gate_pass(&ready);
    await_waiting(loop);
    ck_assert_int_eq(pthread_cancel(thread), 0);
    ck_assert(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, test_cancel, (void *)&called));
    RLRunLoopPostFunctionWithRelease(loop, kRLRunLoopDefaultMode, do_nothing, &life, lifetime_end);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert(result == PTHREAD_CANCELED);
    ck_assert_int_eq(called, 1);
    ck_assert_int_le(life.releases, 1);
    errno = 0;
    ck_assert(!RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, do_nothing, NULL));
    ck_assert_int_eq(errno, ESRCH);
    RLRelease(loop);
    close_pipe(ends);
}

START_TEST(a_cancellation_takes_effect_in_a_callback_of_a_loop_that_slept_in_a_futex)
{
    cancel_in_callback(run_with_timer);
}
END_TEST

START_TEST(a_cancellation_takes_effect_in_a_callback_of_a_loop_that_slept_in_epoll)
{
    cancel_in_callback(run_with_descriptor);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-cancelled");
    TCase *tcase = add_case(suite, "cancelled", 20);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, a_post_of_a_cancelled_thread_wakes_the_loop);
    tcase_add_test(tcase, a_wakeup_of_a_cancelled_thread_wakes_the_loop);
    tcase_add_test(tcase, a_thread_that_ends_with_a_pending_cancellation_tears_its_loop_down);
    tcase_add_test(tcase, a_cancellation_takes_effect_in_a_callback_of_a_loop_that_slept_in_a_futex);
    tcase_add_test(tcase, a_cancellation_takes_effect_in_a_callback_of_a_loop_that_slept_in_epoll);
    tcase_add_test(tcase, a_thread_cancelled_while_asleep_tears_its_loop_down);
    return suite;
}
