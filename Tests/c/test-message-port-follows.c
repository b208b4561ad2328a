/* Checks that a server which finds the next request waiting does not answer it immediately if its port has left the mode, a new
 * client has to be accepted, or a new observer has to be notified. */
#include "message-port-between.h"
#include <sys/resource.h>

static RLRunLoopSourceRef keeper;
static int pair[2];

static void *stop_when_waiting(UNUSED void *info)
{
    await_waiting(main_loop);
    RLRunLoopStop(main_loop);
    return NULL;
}

static pthread_t stopper;

/* The port stays in another mode of the loop, which still watches its descriptors. */
static void move_to_other_mode(void)
{
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(main_loop, keeper, MODE);
    RLRunLoopAddSource(main_loop, server.source, OTHER);
    RLRunLoopRemoveSource(main_loop, server.source, MODE);
    stopper = start_thread(stop_when_waiting, NULL);
}

START_TEST(requests_follow_the_port_into_another_mode)
{
    action = move_to_other_mode;
    is_one_way = _i;
    let_client_send_all(0);
    RLRunLoopRun();
    join_thread(stopper);
    assert_notes("1");
    ck_assert_int_eq(RLRunLoopRunInMode(OTHER, 20, false), kRLRunLoopRunStopped);
    assert_notes("2 3");
    drop_source(keeper);
}
END_TEST

static void stop_for_pipe(void *word)
{
    note(word);
    RLRunLoopStop(main_loop);
}

static int first_pipe(UNUSED void *info) { return pair[0]; }

static void *take_out_while_waiting(UNUSED void *info)
{
    int before = atomic_load(&answered);
    let_client_send(0, 1);
    await_count(&answered, before + 1);
    await_waiting(main_loop);
    RLRunLoopRemoveSource(main_loop, server.source, MODE);
    let_client_send(0, 1);
    require(write(pair[1], "x", 1) == 1);
    return NULL;
}

/* Another thread moves the source while the server waits for the next request. */
START_TEST(requests_follow_a_port_that_another_thread_moves)
{
    make_pipe(pair);
    keeper = make_port_source(0, first_pipe, stop_for_pipe, "pipe");
    RLRunLoopAddSource(main_loop, keeper, MODE);
    RLRunLoopAddSource(main_loop, server.source, OTHER);
    missing = 1000;
    pthread_t thread = start_thread(take_out_while_waiting, NULL);
    RLRunLoopRun();
    join_thread(thread);
    assert_notes("1 pipe");
    missing = 1;
    ck_assert_int_eq(RLRunLoopRunInMode(OTHER, 20, false), kRLRunLoopRunStopped);
    assert_notes("1");
    drop_source(keeper);
    close_pipe(pair);
}
END_TEST

static RLRunLoopObserverRef observer;
static bool takes_port_out;

static void say_waited(UNUSED RLRunLoopObserverRef which, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    note("waited");
    if (takes_port_out)
        RLRunLoopRemoveSource(main_loop, server.source, MODE);
}

static void *observe_while_waiting(UNUSED void *info)
{
    int before = atomic_load(&answered);
    let_client_send(0, 1);
    await_count(&answered, before + 1);
    await_waiting(main_loop);
    observer = make_observer(kRLRunLoopAfterWaiting, true, 0, say_waited, NULL);
    RLRunLoopAddObserver(main_loop, observer, MODE);
    missing = 0;
    let_client_send(0, 1);
    return NULL;
}

/* An observer is added while the loop sleeps after an answer. It may also remove the port from the mode. */
START_TEST(an_observer_added_while_the_loop_sleeps_is_notified_of_the_wake_up)
{
    missing = 1;
    takes_port_out = _i;
    RLRunLoopAddSource(main_loop, server.source, OTHER);
    pthread_t thread = start_thread(observe_while_waiting, NULL);
    RLRunLoopRun();
    join_thread(thread);
    assert_notes(takes_port_out ? "1 waited" : "1 waited 1");
    if (takes_port_out)
        ck_assert_int_eq(RLRunLoopRunInMode(OTHER, 20, false), kRLRunLoopRunStopped);
    drop_observer(observer);
}
END_TEST

static struct rlimit usual;

static void have_descriptors_again(void)
{
    require(setrlimit(RLIMIT_NOFILE, &usual) == 0);
    spin_until(RLAbsoluteTimeGetCurrent() + 0.06); /* longer than until the next attempt */
}

/* The server is out of descriptors when a new client connects. Once it has descriptors again, another client keeps it busy. */
START_TEST(a_client_that_could_not_be_accepted_is_accepted_later)
{
    let_client_send(2, 1);
    let_client_send(0, 9);
    int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &usual);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, usual.rlim_max}), 0);
    action = have_descriptors_again;
    action_request = 2;
    RLRunLoopRun();
    ck_assert_ptr_nonnull(strstr(notes, "21"));
    ck_assert_msg(strstr(notes, "21") < strstr(notes, "9"), "%s", notes);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-follows");
    TCase *tcase = add_case(suite, "follows", 20);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, requests_follow_the_port_into_another_mode, 0, 2);
    tcase_add_test(tcase, requests_follow_a_port_that_another_thread_moves);
    tcase_add_loop_test(tcase, an_observer_added_while_the_loop_sleeps_is_notified_of_the_wake_up, 0, 2);
    tcase_add_test(tcase, a_client_that_could_not_be_accepted_is_accepted_later);
    return suite;
}
