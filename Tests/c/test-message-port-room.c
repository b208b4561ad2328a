/* Checks requests that have to wait for room in the server's queue: the time limit for the reply begins when they are sent, and what
 * was not sent has no callback. */
#include "message-port-child.h"

#include "../waiting.h"

static const RLTimeInterval limit = 1;
static pid_t main_thread;
static double asked;
static int called;
static int32_t result_in_callback;

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

/* Makes the server stop, and fills the socket. */
static void begin_full(void)
{
    begin_child(echo);
    main_thread = gettid();
    called = 0;
    kill(child, SIGSTOP);
    while (RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL) == kRLMessagePortSuccess)
        ;
}

static void note_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, UNUSED void *info)
{
    called++;
    result_in_callback = result;
}

static int32_t send_async(RLTimeInterval seconds)
{
    return RLMessagePortSendRequestAsync(remote, 2, NULL, 60, seconds, MODE, note_result, NULL);
}

static int32_t send_and_wait(RLTimeInterval seconds)
{
    RLDataRef reply = NULL;
    int32_t result = RLMessagePortSendRequest(remote, 2, NULL, 60, seconds, MODE, &reply);
    if (reply)
        RLRelease(reply);
    return result;
}

static int32_t (*const senders[])(RLTimeInterval seconds) = {send_async, send_and_wait};
enum { SENDERS = sizeof senders / sizeof *senders };

/* -- The end of the port while a request waits for room -- */

static void *kill_server(UNUSED void *info)
{
    while (!is_asleep(main_thread))
        ;
    kill(child, SIGKILL);
    return NULL;
}

static void *invalidate_remote(UNUSED void *info)
{
    while (!is_asleep(main_thread))
        ;
    RLMessagePortInvalidate(remote);
    return NULL;
}

static void expect_not_sent(void *(*end_port)(void *info), int32_t (*send)(RLTimeInterval seconds))
{
    begin_full();
    pthread_t thread = start_thread(end_port, NULL);
    ck_assert_int_eq(send(60), kRLMessagePortIsInvalid);
    join_thread(thread);
    RLRunLoopRunInMode(MODE, 0, false);
    ck_assert_int_eq(called, 0);
    ck_assert_int_eq(RLGetRetainCount(remote), 1);
    end_child();
}

START_TEST(a_request_that_waits_for_room_when_the_server_is_killed_was_not_sent)
{
    expect_not_sent(kill_server, senders[_i]);
}
END_TEST

START_TEST(a_request_that_waits_for_room_when_the_port_is_invalidated_was_not_sent)
{
    expect_not_sent(invalidate_remote, senders[_i]);
}
END_TEST

/* -- The time limit for the reply -- */

static void await_limit(void)
{
    while (!is_asleep(main_thread) || monotonic_seconds() < asked + limit)
        usleep(1000);
}

static void *continue_server(UNUSED void *info)
{
    await_limit();
    kill(child, SIGCONT);
    return NULL;
}

START_TEST(the_limit_for_the_reply_begins_when_the_request_is_sent)
{
    begin_full();
    asked = monotonic_seconds();
    pthread_t thread = start_thread(continue_server, NULL);
    ck_assert_int_eq(senders[_i](limit), kRLMessagePortSuccess);
    join_thread(thread);
    if (senders[_i] == send_async) {
        while (!called)
            RLRunLoopRunInMode(MODE, 60, true);
        ck_assert_int_eq(result_in_callback, kRLMessagePortSuccess);
    }
    end_child();
}
END_TEST

static gate server_is_ready, queue_is_full;

static void *serve_after_the_limit(UNUSED void *info)
{
    struct server server;
    serve(&server, NAME, echo, NULL);
    RLMessagePortSetCapacity(server.port, 1);
    gate_open(&server_is_ready);
    gate_pass(&queue_is_full);
    await_limit();
    RLRunLoopRunInMode(MODE, 60, true);
    RLRunLoopRunInMode(MODE, 60, true);
    end_server(&server);
    return NULL;
}

START_TEST(the_limit_for_the_reply_begins_when_the_request_is_queued_within_the_process)
{
    use_own_directory();
    main_thread = gettid();
    gate_init(&server_is_ready);
    gate_init(&queue_is_full);
    pthread_t thread = start_thread(serve_after_the_limit, NULL);
    gate_pass(&server_is_ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL), kRLMessagePortSuccess);
    asked = monotonic_seconds();
    gate_open(&queue_is_full);
    ck_assert_int_eq(send_and_wait(limit), kRLMessagePortSuccess);
    join_thread(thread);
    RLRelease(remote);
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-room");
    TCase *tcase = add_case(suite, "room", 60);
    tcase_add_loop_test(tcase, a_request_that_waits_for_room_when_the_server_is_killed_was_not_sent, 0, SENDERS);
    tcase_add_loop_test(tcase, a_request_that_waits_for_room_when_the_port_is_invalidated_was_not_sent, 0, SENDERS);
    tcase_add_loop_test(tcase, the_limit_for_the_reply_begins_when_the_request_is_sent, 0, SENDERS);
    tcase_add_test(tcase, the_limit_for_the_reply_begins_when_the_request_is_queued_within_the_process);
    return suite;
}
