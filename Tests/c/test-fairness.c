/* Checks case by case, as programs met them, that nothing that is ready starves: what CoreFoundation shares evenly is shared
 * evenly here. Random mixtures are in test-fairness-random.c. */
#include "descriptor.h"
#include "message-port.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>

enum { READY = 3, ROUNDS = 300 };

static RLRunLoopRef rl;
static struct watch ready[READY];
static int ends[READY][2];
static int calls, most_calls;

static void count_call(void)
{
    if (++calls >= most_calls)
        RLRunLoopStop(rl);
}

static void ready_performs(void *info)
{
    watch_perform(info);
    count_call();
}

/* Three descriptors with a byte that is never read. */
static void make_ready(void)
{
    rl = RLRunLoopGetCurrent();
    calls = 0;
    most_calls = READY * ROUNDS;
    for (int i = 0; i < READY; i++) {
        make_pipe(ends[i]);
        require(write(ends[i][1], "x", 1) == 1);
        ready[i] = (struct watch){.fd = ends[i][0]};
        ready[i].source = make_port_source(0, watch_port, ready_performs, &ready[i]);
        RLRunLoopAddSource(rl, ready[i].source, kRLRunLoopDefaultMode);
    }
}

static void drop_ready(void)
{
    for (int i = 0; i < READY; i++) {
        drop_source(ready[i].source);
        close_pipe(ends[i]);
    }
}

/* Runs until `most_calls` is reached: in one run, in runs that return after a source, or in runs of 0 seconds. */
enum { IN_ONE_RUN, RETURNING, WITHOUT_TIME, STYLES };
static void run_until_done(int style)
{
    for (int runs = 0; calls < most_calls; runs++) {
        require(runs < 100 * most_calls);
        if (style == IN_ONE_RUN)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e20, false);
        else
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, style == RETURNING ? 1e20 : 0, style == RETURNING);
    }
}

/* Asserts that the descriptors performed equally often, to within a tenth. */
static void assert_even(void)
{
    int performed = 0;
    for (int i = 0; i < READY; i++)
        performed += ready[i].performed;
    ck_assert_int_ge(performed, READY * 10);
    for (int i = 0; i < READY; i++) {
        ck_assert_int_ge(ready[i].performed * READY * 10, performed * 9);
        ck_assert_int_le(ready[i].performed * READY * 10, performed * 11);
    }
}

START_TEST(ready_descriptors_share_evenly)
{
    make_ready();
    run_until_done(_i);
    assert_even();
    drop_ready();
}
END_TEST

START_TEST(ready_descriptors_share_evenly_beside_an_observer)
{
    static const RLRunLoopActivity activities[] = {kRLRunLoopBeforeTimers, kRLRunLoopBeforeSources,
                                                   kRLRunLoopBeforeWaiting | kRLRunLoopAfterWaiting};
    for (int i = 0; i < 3; i++) {
        atomic_int told = 0;
        make_ready();
        RLRunLoopObserverRef observer = make_observer(activities[i], true, 0, count_activity, &told);
        RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
        run_until_done(_i);
        assert_even();
        drop_observer(observer);
        drop_ready();
    }
}
END_TEST

static void signal_again(void *info)
{
    RLRunLoopSourceSignal(*(RLRunLoopSourceRef *)info);
    RLRunLoopWakeUp(rl);
    count_call();
}

START_TEST(ready_descriptors_share_evenly_beside_a_source_that_signals_itself)
{
    RLRunLoopSourceRef again;
    make_ready();
    again = make_source(0, signal_again, &again);
    RLRunLoopAddSource(rl, again, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(again);
    run_until_done(_i);
    assert_even();
    drop_source(again);
    drop_ready();
}
END_TEST

static void fire_again(UNUSED RLRunLoopTimerRef timer, void *info)
{
    ++*(int *)info;
    count_call();
}

START_TEST(ready_descriptors_share_evenly_beside_a_timer_that_is_always_due)
{
    int fired = 0;
    make_ready();
    RLRunLoopTimerRef timer = make_timer(0, 1e-9, fire_again, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    run_until_done(_i);
    assert_even();
    ck_assert_int_ge(fired, ROUNDS / 3);
    drop_timer(timer);
    drop_ready();
}
END_TEST

static int functions;

static void queue_again(UNUSED void *info)
{
    functions++;
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, queue_again, NULL));
    count_call();
}

START_TEST(ready_descriptors_share_evenly_beside_functions_that_queue_themselves)
{
    functions = 0;
    make_ready();
    most_calls *= 10;
    queue_again(NULL);
    run_until_done(_i);
    assert_even();
    RLRunLoopCancelPerformFunction(rl, queue_again, NULL);
    drop_ready();
}
END_TEST

/* More descriptors than one system call returns. The promise is 32 * (n + 1) passes, in each of which `again` performs once. */
START_TEST(many_ready_descriptors_all_have_their_turn)
{
    enum { MOST_READY = 900 };
    static const int counts[] = {257, 600, 512, MOST_READY};
    static struct watch many[MOST_READY];
    int count = counts[_i / STYLES];
    RLRunLoopSourceRef again;
    rl = RLRunLoopGetCurrent();
    calls = 0;
    most_calls = 64 * count;
    for (int i = 0; i < count; i++) {
        many[i] = (struct watch){.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
        require(many[i].fd >= 0);
        many[i].source = make_port_source(0, watch_port, ready_performs, &many[i]);
        RLRunLoopAddSource(rl, many[i].source, kRLRunLoopDefaultMode);
    }
    again = make_source(0, signal_again, &again);
    RLRunLoopAddSource(rl, again, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(again);
    run_until_done(_i % STYLES);
    for (int i = 0; i < count; i++) {
        ck_assert_int_ge(many[i].performed, 1);
        drop_source(many[i].source);
        close(many[i].fd);
    }
    drop_source(again);
}
END_TEST

/* -- A daemon that works in slices -- */

static void slice(UNUSED void *info)
{
    struct timespec begin, now;
    functions++;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000);
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, slice, NULL));
    ck_assert_int_lt(functions, 1000);
}

START_TEST(a_daemon_that_works_in_slices_receives_its_signal)
{
    rl = RLRunLoopGetCurrent();
    functions = 0;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    struct watch term = {.fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)};
    term.source = make_port_source(0, watch_port, stop_current, &term);
    RLRunLoopAddSource(rl, term.source, kRLRunLoopDefaultMode);
    slice(NULL);
    require(kill(getpid(), SIGTERM) == 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e20, false);
    ck_assert_int_le(functions, 20);
    RLRunLoopCancelPerformFunction(rl, slice, NULL);
    drop_source(term.source);
    close(term.fd);
}
END_TEST

/* -- A flood of posts -- */

static _Atomic bool flooding;
static double due, cpu_when_due, cpu_late;

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void drop_of_flood(UNUSED void *info)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec == begin.tv_sec && now.tv_nsec - begin.tv_nsec < 2000);
    if (cpu_when_due == 0 && RLAbsoluteTimeGetCurrent() > due)
        cpu_when_due = thread_seconds();
}

static void *flood(UNUSED void *info)
{
    while (flooding)
        require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, drop_of_flood, NULL));
    return NULL;
}

static void end_of_flood(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    cpu_late = cpu_when_due == 0 ? 0 : thread_seconds() - cpu_when_due;
    flooding = false;
    RLRunLoopStop(rl);
}

/* The threads post functions faster than the loop can call them. What the loop does after the timer is due is measured in
 * processor time of its thread, which no other process can lengthen. */
START_TEST(a_flood_of_posts_does_not_keep_a_timer_waiting)
{
    rl = RLRunLoopGetCurrent();
    flooding = true;
    due = RLAbsoluteTimeGetCurrent() + 0.3;
    RLRunLoopTimerRef timer = make_timer(due, 0, end_of_flood, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start_thread(flood, NULL);
    RLRunLoopRun();
    for (int i = 0; i < 2; i++)
        join_thread(threads[i]);
    ck_assert_double_lt(cpu_late, 0.1);
    RLRunLoopCancelPerformFunction(rl, drop_of_flood, NULL);
    drop_timer(timer);
}
END_TEST

static int order_of_flood, kept_order;

static void in_order(void *info)
{
    require((int)(intptr_t)info == order_of_flood);
    order_of_flood++;
    drop_of_flood(NULL);
}

static void of_other_mode(void *info)
{
    require((int)(intptr_t)info == kept_order);
    kept_order++;
}

static void never_run(UNUSED void *info) { require(false); }

/* A queue that takes longer than one pass may spend on it: nothing is lost, called twice, or called out of order. */
START_TEST(a_long_queue_is_called_in_order_over_several_passes)
{
    enum { COUNT = 20000 };
    rl = RLRunLoopGetCurrent();
    due = 1e20;
    order_of_flood = kept_order = 0;
    for (int i = 0; i < COUNT; i++) {
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, in_order, (void *)(intptr_t)i));
        if (i % 10 == 0)
            require(RLRunLoopPerformFunction(rl, RLSTR("other"), of_other_mode, (void *)(intptr_t)(i / 10)));
        if (i % 100 == 0)
            require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, never_run, NULL));
    }
    atomic_int fired = 0;
    RLRunLoopTimerRef timer = make_timer(0, 1e-6, count_timer, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, never_run, NULL), COUNT / 100);
    while (order_of_flood < COUNT) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, false);
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, never_run, NULL));
        ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, never_run, NULL), 1);
    }
    ck_assert_int_ge(fired, 20); /* the queue takes 40 ms */
    ck_assert_int_eq(kept_order, 0);
    RLRunLoopRunInMode(RLSTR("other"), 0, false);
    ck_assert_int_eq(kept_order, COUNT / 10);
    drop_timer(timer);
}
END_TEST

START_TEST(one_pass_calls_all_functions_that_were_queued)
{
    enum { COUNT = 2000 };
    rl = RLRunLoopGetCurrent();
    due = 1e20;
    order_of_flood = 0;
    for (int i = 0; i < COUNT; i++)
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, in_order, (void *)(intptr_t)i));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    ck_assert_int_eq(order_of_flood, COUNT);
}
END_TEST

/* -- Objects -- */

static void serve_some(struct sock *sock, UNUSED RLSocketCallBackType type, UNUSED const void *data)
{
    char byte;
    sock->bytes += read(RLSocketGetNative(sock->object), &byte, 1) == 1;
}

/* One client has sent so much that its socket stays readable, the other one only a little. */
START_TEST(a_busy_client_does_not_keep_another_waiting)
{
    int pairs[2][2];
    char flood_bytes[4096];
    memset(flood_bytes, 'x', sizeof flood_bytes);
    struct sock socks[2] = {{.action = serve_some}, {.action = serve_some}};
    for (int i = 0; i < 2; i++) {
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pairs[i]) == 0);
        require(write(pairs[i][1], flood_bytes, i ? 20 : sizeof flood_bytes) > 0);
        RLSocketContext context = {.info = &socks[i]};
        socks[i].object = RLSocketCreateWithNative(NULL, pairs[i][0], kRLSocketReadCallBack, sock_called, &context);
        socks[i].source = RLSocketCreateRunLoopSource(NULL, socks[i].object, 0);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), socks[i].source, kRLRunLoopDefaultMode);
        RLRelease(socks[i].source);
    }
    for (int i = 0; i < 60; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e20, true);
    ck_assert_int_eq(socks[1].bytes, 20);
    for (int i = 0; i < 2; i++) {
        RLSocketInvalidate(socks[i].object);
        RLRelease(socks[i].object);
        close(pairs[i][1]);
    }
}
END_TEST

static RLDataRef answer(UNUSED RLMessagePortRef port, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLDataCreateCopy(NULL, data);
}

static void serve_until_parent_ends(UNUSED void *info)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLRunLoopRun();
}

/* The mode in which the reply is awaited has a descriptor that stays ready. */
START_TEST(a_ready_descriptor_does_not_keep_a_reply_waiting)
{
    make_ready();
    most_calls = 1 << 30;
    pid_t child = fork_child();
    if (child == 0) {
        serve_until_parent_ends(NULL);
        _exit(0);
    }
    RLMessagePortRef remote;
    while ((remote = RLMessagePortCreateRemote(NULL, NAME)) == NULL)
        sched_yield();
    for (int i = 0; i < 20; i++) {
        RLDataRef data = text_data("ask"), reply = NULL;
        ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 10, 10, kRLRunLoopDefaultMode, &reply),
                         kRLMessagePortSuccess);
        require(is_text(reply, "ask"));
        RLRelease(reply);
        RLRelease(data);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    RLMessagePortInvalidate(remote);
    RLRelease(remote);
    drop_ready();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fairness");
    TCase *tcase = add_case(suite, "descriptors", 30);
    tcase_add_loop_test(tcase, ready_descriptors_share_evenly, 0, STYLES);
    tcase_add_loop_test(tcase, ready_descriptors_share_evenly_beside_an_observer, 0, STYLES);
    tcase_add_loop_test(tcase, ready_descriptors_share_evenly_beside_a_source_that_signals_itself, 0, STYLES);
    tcase_add_loop_test(tcase, ready_descriptors_share_evenly_beside_a_timer_that_is_always_due, 0, STYLES);
    tcase_add_loop_test(tcase, ready_descriptors_share_evenly_beside_functions_that_queue_themselves, 0, STYLES);
    tcase_add_loop_test(tcase, many_ready_descriptors_all_have_their_turn, 0, (SANITIZED ? 2 : 4) * STYLES);
    tcase_add_test(tcase, a_daemon_that_works_in_slices_receives_its_signal);
    tcase_add_test(tcase, a_busy_client_does_not_keep_another_waiting);
    tcase = add_case(suite, "functions", 30);
    tcase_add_test(tcase, a_flood_of_posts_does_not_keep_a_timer_waiting);
    tcase_add_test(tcase, a_long_queue_is_called_in_order_over_several_passes);
    tcase_add_test(tcase, one_pass_calls_all_functions_that_were_queued);
    tcase = add_case(suite, "ports", 30);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, a_ready_descriptor_does_not_keep_a_reply_waiting);
    return suite;
}
