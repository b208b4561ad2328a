/* Checks pthread_exit() in the callback of a port, a socket or a request: nothing stays counted as in use, and the other end is
 * notified. */
#include "message-port.h"

static atomic_int calls;
static struct lifetime life;
static RLDataRef payload;
static RLRunLoopRef loop;
static gate ready;

static void set_up(void)
{
    use_own_directory();
    gate_init(&ready);
    payload = text_data("payload");
}

static void *run_until_ended(void *add)
{
    loop = RLRunLoopGetCurrent();
    ((void (*)(void))add)();
    gate_open(&ready);
    RLRunLoopRunInMode(MODE, 60, false);
    ck_abort_msg("the thread has not ended");
}

/* -- RLPort -- */

static RLPortRef port;
static RLPortMessageRef kept;

static void end_by_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info)
{
    if (++calls == 2)
        pthread_exit(NULL);
}

static void keep_and_end_by_message(UNUSED RLPortRef own, RLPortMessageRef message, UNUSED void *info)
{
    kept = (RLPortMessageRef)RLRetain(message);
    pthread_exit(NULL);
}

static void send_payload(void)
{
    RLArrayRef components = RLArrayCreate(NULL, (const void **)&payload, 1, &kRLTypeArrayCallBacks);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, components);
    require(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 60));
    RLRelease(message);
    RLRelease(components);
}

static void make_port(RLPortCallBack callout)
{
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    port = RLPortCreate(NULL, callout, &context, NULL);
}

static void receive_three(void)
{
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(loop, source, MODE);
    RLRelease(source);
    for (int i = 0; i < 3; i++)
        send_payload();
}

START_TEST(a_port_whose_callback_ends_the_thread_releases_message_and_info)
{
    make_port(end_by_message);
    join_thread(start_thread(run_until_ended, (void *)receive_three));
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(RLGetRetainCount(payload), 2); /* the third message is still queued */
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLPortInvalidate(port);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
    ck_assert_int_eq(RLGetRetainCount(port), 1);
    RLRelease(port);
}
END_TEST

START_TEST(a_message_that_the_callback_keeps_outlives_its_thread)
{
    make_port(keep_and_end_by_message);
    join_thread(start_thread(run_until_ended, (void *)receive_three));
    ck_assert_int_eq(RLGetRetainCount(kept), 1);
    RLArrayRef components = RLPortMessageGetComponents(kept);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(components, 0), payload);
    ck_assert_ptr_eq(RLPortMessageGetReceivePort(kept), port);
    RLRelease(kept);
    RLPortInvalidate(port);
    RLRelease(port);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
}
END_TEST

static void end_by_end(UNUSED RLPortRef own, UNUSED void *info) { pthread_exit(NULL); }

static void *invalidate_port(UNUSED void *info)
{
    RLPortInvalidate(port);
    return NULL;
}

static void ignore_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info) {}

START_TEST(a_port_whose_invalidation_callback_ends_the_thread_releases_its_info)
{
    make_port(ignore_message);
    RLPortSetInvalidationCallBack(port, end_by_end);
    join_thread(start_thread(invalidate_port, NULL));
    ck_assert(!RLPortIsValid(port));
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLGetRetainCount(port), 1);
    RLRelease(port);
}
END_TEST

/* -- A server -- */

static struct server server;
static RLMessagePortRequestRef taken;

static RLDataRef end_by_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                                UNUSED void *info)
{
    pthread_exit(NULL);
}

static RLDataRef take_and_end(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    taken = RLMessagePortCopyRequest(local);
    pthread_exit(NULL);
}

static RLMessagePortCallBack callout;
static void serve_requests(void)
{
    RLMessagePortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    server.port = RLMessagePortCreateLocal(NULL, NAME, callout, &context, NULL);
    require(server.port != NULL);
    server.source = RLMessagePortCreateRunLoopSource(NULL, server.port, 0);
    RLRunLoopAddSource(loop, server.source, MODE);
}

static void start_server(RLMessagePortCallBack function, pthread_t *thread)
{
    callout = function;
    *thread = start_thread(run_until_ended, (void *)serve_requests);
    gate_pass(&ready);
}

static void assert_server_is_released(void)
{
    ck_assert_int_eq(lifetime_held(&life), 1);
    end_server(&server);
    ck_assert_int_eq(lifetime_held(&life), 0);
}

START_TEST(a_client_in_this_process_is_notified_that_the_callbacks_thread_has_ended)
{
    pthread_t thread;
    RLDataRef reply = NULL;
    start_server(end_by_request, &thread);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, payload, 60, 1e9, kRLMessagePortPrivateReplyMode, &reply),
                     kRLMessagePortTransportError);
    join_thread(thread);
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
    assert_server_is_released();
    RLRelease(remote);
}
END_TEST

static void end_by_end_of_server(UNUSED RLMessagePortRef own, UNUSED void *info) { pthread_exit(NULL); }

static void *invalidate_server(UNUSED void *info)
{
    RLMessagePortInvalidate(server.port);
    return NULL;
}

START_TEST(a_message_port_whose_invalidation_callback_ends_the_thread_releases_its_info)
{
    RLMessagePortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    server.port = RLMessagePortCreateLocal(NULL, NAME, take_and_end, &context, NULL);
    RLMessagePortSetInvalidationCallBack(server.port, end_by_end_of_server);
    join_thread(start_thread(invalidate_server, NULL));
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLGetRetainCount(server.port), 1);
    RLRelease(server.port);
}
END_TEST

static pid_t client;
static void ask_from_child(void)
{
    client = fork_child();
    if (client != 0)
        return;
    RLDataRef reply = NULL;
    RLMessagePortRef remote;
    while ((remote = RLMessagePortCreateRemote(NULL, NAME)) == NULL)
        child_assert(errno == ECONNREFUSED || errno == ENOENT);
    child_assert(RLMessagePortSendRequest(remote, 1, payload, 60, 1e9, kRLMessagePortPrivateReplyMode, &reply) ==
                 kRLMessagePortTransportError);
    _exit(0);
}

START_TEST(a_client_in_another_process_is_notified_that_the_callbacks_thread_has_ended)
{
    pthread_t thread;
    ask_from_child();
    start_server(end_by_request, &thread);
    end_process(client, 0);
    join_thread(thread);
    assert_server_is_released();
}
END_TEST

static void *ask_within_process(UNUSED void *info)
{
    RLDataRef reply = NULL;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, payload, 60, 1e9, kRLMessagePortPrivateReplyMode, &reply),
                     kRLMessagePortSuccess);
    ck_assert_ptr_eq(reply, payload);
    RLRelease(reply);
    RLRelease(remote);
    return NULL;
}

START_TEST(a_request_kept_by_the_callback_can_be_answered_after_the_end_of_the_thread)
{
    pthread_t thread;
    start_server(take_and_end, &thread);
    pthread_t asker = start_thread(ask_within_process, NULL);
    join_thread(thread);
    ck_assert(RLMessagePortRequestReply(taken, payload));
    join_thread(asker);
    RLRelease(taken);
    assert_server_is_released();
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
}
END_TEST

/* -- The thread that sends the request -- */

static RLMessagePortRef remote;
static int asked_in_vain;

static void end_by_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { pthread_exit(NULL); }

/* The run in which the thread waits for the reply fires a timer that ends the thread. */
static void *ask_and_end(UNUSED void *info)
{
    RLDataRef reply = NULL;
    RLRunLoopTimerRef timer = make_timer(0, 0, end_by_timer, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRelease(timer);
    RLMessagePortSendRequest(remote, 1, payload, 60, 1e9, MODE, &reply);
    asked_in_vain++;
    return NULL;
}

/* Overwrites the memory that was the stack of an ended thread. */
static void *fill_stack(UNUSED void *info)
{
    volatile char memory[64 * 1024];
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (char)0xA5;
    return NULL;
}

static RLDataRef take(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (taken == NULL)
        taken = RLMessagePortCopyRequest(local);
    return NULL;
}

START_TEST(a_reply_to_a_thread_that_has_ended_while_it_waited_is_dropped)
{
    serve(&server, NAME, take, NULL);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    join_thread(start_thread(ask_and_end, NULL));
    join_thread(start_thread(ask_and_end, NULL));
    ck_assert_int_eq(asked_in_vain, 0);
    join_thread(start_thread(fill_stack, NULL));
    RLRunLoopRunInMode(MODE, 0, true);
    ck_assert_ptr_nonnull(taken);
    RLMessagePortRequestReply(taken, payload);
    RLRelease(taken);
    RLRunLoopRunInMode(MODE, 0, false); /* the second request is dropped without an answer */
    join_thread(start_thread(fill_stack, NULL));
    ck_assert_int_eq(RLGetRetainCount(payload), 1); /* neither the request nor the reply keeps it */
    ck_assert_int_eq(RLGetRetainCount(remote), 1);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

static RLDataRef echo_payload(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

static void serve_in_process(int fd)
{
    serve(&server, NAME, echo_payload, NULL);
    say_ready(fd);
    RLRunLoopRunInMode(MODE, 60, false);
}

/* The port's descriptor is closed with the port, so this shows whether an ended thread has left a reference to it. */
static void use_server_of_another_process(void *(*body)(void *))
{
    int fd;
    pid_t child = start_server_process(serve_in_process, &fd);
    RLRunLoopGetCurrent();
    int descriptors = open_descriptors();
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(open_descriptors(), descriptors + 1);
    for (int i = 0; i < 3; i++)
        join_thread(start_thread(body, NULL));
    ck_assert_int_eq(asked_in_vain, 0);
    RLMessagePortInvalidate(remote);
    RLRelease(remote);
    /* Before Linux 6.16, a thread of the library closes a socket in which there is still a reply. */
    for (double end = monotonic_seconds() + 10; open_descriptors() > descriptors && monotonic_seconds() < end;)
        sched_yield();
    ck_assert_int_eq(open_descriptors(), descriptors);
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
    end_process(child, SIGKILL);
    close(fd);
}

START_TEST(a_port_to_another_process_is_released_by_a_thread_that_has_ended_while_it_waited)
{
    use_server_of_another_process(ask_and_end);
}
END_TEST

static RLDataRef received_reply;
static void end_by_reply(UNUSED RLMessagePortRef own, int32_t result, RLDataRef reply, UNUSED void *info)
{
    require(result == kRLMessagePortSuccess);
    received_reply = RLRetain(reply);
    pthread_exit(NULL);
}

static void *send_async_and_end(UNUSED void *info)
{
    require(RLMessagePortSendRequestAsync(remote, 1, payload, 60, 1e9, MODE, end_by_reply, NULL) ==
            kRLMessagePortSuccess);
    RLRunLoopRunInMode(MODE, 60, false);
    asked_in_vain++;
    return NULL;
}

START_TEST(a_port_to_another_process_is_released_by_a_thread_that_ends_in_a_reply_callback)
{
    use_server_of_another_process(send_async_and_end);
    ck_assert_int_eq(RLGetRetainCount(received_reply), 1);
}
END_TEST

/* -- Sockets -- */

static int ends[2];
static RLSocketRef socket_;

static void end_by_socket(UNUSED RLSocketRef s, RLSocketCallBackType type, UNUSED RLDataRef address, const void *data,
                          UNUSED void *info)
{
    if (type == kRLSocketDataCallBack)
        received_reply = RLRetain(data);
    pthread_exit(NULL);
}

static RLOptionFlags socket_types;
static void watch_socket(void)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    require(write(ends[1], "x", 1) == 1);
    socket_ = RLSocketCreateWithNative(NULL, ends[0], socket_types, end_by_socket, &context);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, socket_, 0);
    RLRunLoopAddSource(loop, source, MODE);
    RLRelease(source);
}

static void assert_socket_is_released(RLOptionFlags types)
{
    socket_types = types;
    join_thread(start_thread(run_until_ended, (void *)watch_socket));
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLSocketInvalidate(socket_);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(fcntl(ends[0], F_GETFD), -1);
    ck_assert_int_eq(RLGetRetainCount(socket_), 1);
    RLRelease(socket_);
    close(ends[1]);
}

START_TEST(a_socket_whose_callback_ends_the_thread_releases_its_info)
{
    assert_socket_is_released(kRLSocketReadCallBack);
    gate_init(&ready);
    assert_socket_is_released(kRLSocketDataCallBack);
    ck_assert_int_eq(RLGetRetainCount(received_reply), 1);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-ended-in-port-callback");
    TCase *tcase = add_case(suite, "ended", 30);
    tcase_add_checked_fixture(tcase, set_up, remove_own_directory);
    tcase_add_test(tcase, a_port_whose_callback_ends_the_thread_releases_message_and_info);
    tcase_add_test(tcase, a_message_that_the_callback_keeps_outlives_its_thread);
    tcase_add_test(tcase, a_port_whose_invalidation_callback_ends_the_thread_releases_its_info);
    tcase_add_test(tcase, a_message_port_whose_invalidation_callback_ends_the_thread_releases_its_info);
    tcase_add_test(tcase, a_client_in_this_process_is_notified_that_the_callbacks_thread_has_ended);
    tcase_add_test(tcase, a_client_in_another_process_is_notified_that_the_callbacks_thread_has_ended);
    tcase_add_test(tcase, a_request_kept_by_the_callback_can_be_answered_after_the_end_of_the_thread);
    tcase_add_test(tcase, a_reply_to_a_thread_that_has_ended_while_it_waited_is_dropped);
    tcase_add_test(tcase, a_port_to_another_process_is_released_by_a_thread_that_has_ended_while_it_waited);
    tcase_add_test(tcase, a_port_to_another_process_is_released_by_a_thread_that_ends_in_a_reply_callback);
    tcase_add_test(tcase, a_socket_whose_callback_ends_the_thread_releases_its_info);
    return suite;
}
