/* Checks requests whose sender goes away before they are answered: their remaining time becomes 0, and the invalidation callback
 * is called. */
#include "message-port.h"

static struct server server;
static pid_t child;
static RLMessagePortRef remote;
static RLMessagePortRequestRef taken;
static bool one_way;

static int notified;
static RLMessagePortRequestRef notified_request;
static pthread_t notified_thread;

static void on_gone(RLMessagePortRequestRef request, void *info)
{
    require(info == &notified);
    require(RLMessagePortRequestGetRemainingTime(request) == (one_way ? INFINITY : 0));
    notified++;
    notified_request = request;
    notified_thread = pthread_self();
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void count_only(UNUSED RLMessagePortRequestRef request, void *info) { ++*(int *)info; }

/* Request 1 is taken over and ends the run, any other is answered. */
static RLDataRef take(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id != 1)
        return RLRetain(data);
    require(RLMessagePortGetRemainingTime(local) == INFINITY);
    taken = RLMessagePortCopyRequest(local);
    require(RLMessagePortRequestGetRemainingTime(taken) == INFINITY);
    RLRunLoopStop(RLRunLoopGetCurrent());
    return NULL;
}

static void begin(void)
{
    use_own_directory();
    serve(&server, NAME, take, NULL);
}

static void end(void)
{
    if (server.port)
        end_server(&server);
    remove_own_directory();
}

static void watch_taken(void)
{
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, on_gone, &notified));
    ck_assert_int_eq(notified, 0);
}

/* Serves until request 1 has been taken over. */
static void await_taken(void)
{
    while (taken == NULL)
        RLRunLoopRunInMode(MODE, 20, false);
}

/* ---- the sender is another process ---- */

static void ask_for_ever(void)
{
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    require(port != NULL);
    if (one_way)
        require(ask(port, 1, "x", 0, NULL, NULL) == kRLMessagePortSuccess);
    ask(port, one_way ? 2 : 1, "x", HUGE_VAL, one_way ? RLSTR("never") : kRLMessagePortPrivateReplyMode, NULL);
    pause();
}

static void start_client(void)
{
    child = fork_child();
    if (child == 0)
        ask_for_ever();
    await_taken();
}

static void kill_client(void)
{
    kill(child, SIGKILL);
    require(waitpid(child, NULL, 0) == child);
}

START_TEST(a_request_of_a_killed_client_has_no_remaining_time)
{
    start_client();
    kill_client();
    /* No loop has run meanwhile. */
    ck_assert(RLMessagePortRequestGetRemainingTime(taken) == 0);
    RLRelease(taken);
}
END_TEST

START_TEST(the_end_of_a_client_is_reported_once)
{
    start_client();
    watch_taken();
    ck_assert(RLMessagePortRequestGetRemainingTime(taken) == INFINITY);
    kill_client();
    while (notified == 0)
        RLRunLoopRunInMode(MODE, 20, false);
    ck_assert_ptr_eq(notified_request, taken);
    ck_assert(pthread_equal(notified_thread, pthread_self()));
    ck_assert(RLMessagePortRequestReply(taken, NULL)); /* has no effect */
    RLRelease(taken);
    RLMessagePortInvalidate(server.port);
    ck_assert_int_eq(notified, 1);
}
END_TEST

START_TEST(the_end_of_a_client_that_wants_no_reply_is_reported)
{
    one_way = true;
    start_client();
    watch_taken();
    kill_client();
    while (notified == 0)
        RLRunLoopRunInMode(MODE, 20, false);
    RLRelease(taken);
}
END_TEST

static void release_request(RLMessagePortRequestRef request, void *info)
{
    on_gone(request, info);
    RLRelease(request);
    taken = NULL;
}

START_TEST(the_invalidation_callback_may_release_the_request)
{
    start_client();
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, release_request, &notified));
    kill_client();
    while (notified == 0)
        RLRunLoopRunInMode(MODE, 20, false);
    ck_assert_ptr_null(taken);
}
END_TEST

START_TEST(a_callback_set_after_the_end_of_the_port_is_called_at_once)
{
    start_client();
    RLMessagePortInvalidate(server.port);
    ck_assert(RLMessagePortRequestGetRemainingTime(taken) == 0);
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, on_gone, &notified));
    ck_assert_int_eq(notified, 1);
    RLRelease(taken);
    kill_client();
}
END_TEST

/* No loop has noticed the end yet. */
START_TEST(a_callback_set_after_the_end_of_the_client_is_called_at_once)
{
    start_client();
    kill_client();
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, on_gone, &notified));
    ck_assert_int_eq(notified, 1);
    RLRunLoopRunInMode(MODE, 0.01, false);
    ck_assert_int_eq(notified, 1);
    RLRelease(taken);
}
END_TEST

START_TEST(the_end_of_the_local_port_is_reported)
{
    start_client();
    watch_taken();
    RLMessagePortInvalidate(server.port);
    ck_assert_int_eq(notified, 1);
    ck_assert(RLMessagePortRequestReply(taken, NULL)); /* has no effect */
    RLRelease(taken);
    kill_client();
}
END_TEST

/* ---- the sender is a thread of this process ---- */

static void note_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    *(int32_t *)info = result;
}

static int32_t result;

static void ask_here(void)
{
    remote = RLMessagePortCreateRemote(NULL, NAME);
    result = 1;
    ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 1, NULL, 1, HUGE_VAL, MODE, note_result, &result),
                     kRLMessagePortSuccess);
    await_taken();
}

static void *invalidate_remote(UNUSED void *info)
{
    RLMessagePortInvalidate(remote);
    return NULL;
}

START_TEST(invalidating_a_remote_port_calls_back_on_the_invalidating_thread)
{
    ask_here();
    watch_taken();
    pthread_t thread = start_thread(invalidate_remote, NULL);
    join_thread(thread);
    ck_assert_int_eq(notified, 1);
    ck_assert(pthread_equal(notified_thread, thread));
    ck_assert_ptr_eq(notified_request, taken);
    RLRelease(taken);
    RLRelease(remote);
}
END_TEST

START_TEST(the_end_of_both_ports_is_reported_once)
{
    ask_here();
    watch_taken();
    RLMessagePortInvalidate(server.port);
    RLMessagePortInvalidate(remote);
    ck_assert_int_eq(notified, 1);
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, on_gone, &notified));
    ck_assert_int_eq(notified, 2); /* set again, so called again */
    RLRelease(taken);
    RLRelease(remote);
}
END_TEST

START_TEST(an_answered_request_ignores_the_end_of_its_sender)
{
    ask_here();
    watch_taken();
    ck_assert(RLMessagePortRequestReply(taken, NULL));
    ck_assert(RLMessagePortRequestGetRemainingTime(taken) == 0);
    RLMessagePortInvalidate(remote);
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, on_gone, &notified));
    ck_assert_int_eq(notified, 0);
    RLRelease(taken);
    RLRelease(remote);
}
END_TEST

START_TEST(a_released_request_does_not_call_back)
{
    ask_here();
    watch_taken();
    RLRelease(taken);
    RLMessagePortInvalidate(remote);
    ck_assert_int_eq(notified, 0);
    RLRelease(remote);
}
END_TEST

START_TEST(the_invalidation_callback_can_be_replaced_and_removed)
{
    int first = 0, second = 0;
    ask_here();
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, count_only, &first));
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, count_only, &second));
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, count_only, _i ? &second : &first));
    if (_i == 2)
        ck_assert(RLMessagePortRequestSetInvalidationCallBack(taken, NULL, NULL));
    RLMessagePortInvalidate(remote);
    ck_assert_int_eq(first, _i == 0);
    ck_assert_int_eq(second, _i == 1);
    RLRelease(taken);
    RLRelease(remote);
}
END_TEST

static void end_in_child(UNUSED void *info)
{
    child_assert(RLMessagePortRequestGetRemainingTime(taken) == 0);
    child_assert(notified == 0);
    RLMessagePortInvalidate(server.port);
    RLRelease(taken);
    child_assert(notified == 0);
}

START_TEST(no_invalidation_callback_is_called_in_the_child_of_a_fork)
{
    if (_i)
        start_client();
    else
        ask_here();
    watch_taken();
    ck_assert_int_eq(run_in_child(end_in_child, NULL), 0);
    ck_assert_int_eq(notified, 0);
    ck_assert(RLMessagePortRequestGetRemainingTime(taken) == INFINITY);
    RLMessagePortInvalidate(server.port);
    ck_assert_int_eq(notified, 1);
    RLRelease(taken);
    if (_i)
        kill_client();
    else
        RLRelease(remote);
}
END_TEST

START_TEST(misuse_of_request_invalidation_callbacks_is_reported)
{
    ck_assert(!RLMessagePortRequestSetInvalidationCallBack(NULL, on_gone, &notified));
    assert_misuse("RLMessagePortRequestSetInvalidationCallBack", "request", NULL);
    ck_assert(!RLMessagePortRequestSetInvalidationCallBack((RLMessagePortRequestRef)server.port, on_gone, &notified));
    assert_misuse("RLMessagePortRequestSetInvalidationCallBack", "request", NULL);
}
END_TEST

/* ---- all at the same time ---- */

enum { RACES = 300 };
static gate race_begins, race_is_over;
static atomic_int calls;

static void count_call(UNUSED RLMessagePortRequestRef request, UNUSED void *info) { calls++; }

static void *answer_in_a_race(UNUSED void *info)
{
    for (int round = 0; round < SCALED(RACES); round++) {
        gate_pass(&race_begins);
        require(RLMessagePortRequestSetInvalidationCallBack(taken, count_call, NULL));
        if (round % 3 == 0)
            RLMessagePortRequestReply(taken, NULL);
        if (round % 3 == 1)
            require(RLMessagePortRequestSetInvalidationCallBack(taken, count_call, NULL));
        RLRelease(taken);
        gate_open(&race_is_over);
    }
    return NULL;
}

/* Setting the callback, answering, the last release and the end of the sender coincide. */
START_TEST(a_request_may_be_answered_released_and_invalidated_at_once)
{
    gate_init(&race_begins);
    gate_init(&race_is_over);
    pthread_t thread = start_thread(answer_in_a_race, NULL);
    for (int round = 0; round < SCALED(RACES); round++) {
        taken = NULL;
        calls = 0;
        ask_here();
        RLRetain(taken);
        gate_open(&race_begins);
        for (int i = 0; i < round % 7; i++)
            sched_yield();
        RLMessagePortInvalidate(remote);
        RLRelease(taken);
        gate_pass(&race_is_over);
        require(calls <= 2);
        RLRelease(remote);
    }
    join_thread(thread);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-gone");
    TCase *tcase = add_case(suite, "gone", 30);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_request_of_a_killed_client_has_no_remaining_time);
    tcase_add_test(tcase, the_end_of_a_client_is_reported_once);
    tcase_add_test(tcase, the_end_of_a_client_that_wants_no_reply_is_reported);
    tcase_add_test(tcase, the_invalidation_callback_may_release_the_request);
    tcase_add_test(tcase, a_callback_set_after_the_end_of_the_port_is_called_at_once);
    tcase_add_test(tcase, a_callback_set_after_the_end_of_the_client_is_called_at_once);
    tcase_add_test(tcase, the_end_of_the_local_port_is_reported);
    tcase_add_test(tcase, invalidating_a_remote_port_calls_back_on_the_invalidating_thread);
    tcase_add_test(tcase, the_end_of_both_ports_is_reported_once);
    tcase_add_test(tcase, an_answered_request_ignores_the_end_of_its_sender);
    tcase_add_test(tcase, a_released_request_does_not_call_back);
    tcase_add_loop_test(tcase, the_invalidation_callback_can_be_replaced_and_removed, 0, 3);
    tcase_add_loop_test(tcase, no_invalidation_callback_is_called_in_the_child_of_a_fork, 0, 2);
    tcase_add_test(tcase, misuse_of_request_invalidation_callbacks_is_reported);
    tcase_add_test(tcase, a_request_may_be_answered_released_and_invalidated_at_once);
    return suite;
}
