/* Checks a server that ends while a request is being sent to it: the invalidation callback, which is called inside the sending
 * function, may release the port and run the loop, and each asynchronous request that was sent calls back once. */
#include "message-port-hostile.h"

enum { LARGE = 8 << 20, REQUESTS = 5, SMALL_REQUESTS = 20 };

static pid_t child;
static int child_ready;
static RLMessagePortRef remote, other;
static int invalidations;

/* Claims the name, and reads nothing. */
static void claim_only(int ready)
{
    struct server idle;
    serve(&idle, NAME, echo, NULL);
    say_ready(ready);
    pause();
}

/* Accepts one client, and sends it bytes that are no packet of the protocol. */
static void send_nonsense(int ready)
{
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    require(fd >= 0 && send(fd, "nonsense", 8, 0) == 8);
    pause();
}

static void end_server_process(void)
{
    end_process(child, SIGKILL);
    child = 0;
}

static void end(void)
{
    if (child > 0)
        end_server_process();
    close(child_ready);
    remove_own_directory();
}

static void release_port(RLMessagePortRef port, UNUSED void *info)
{
    invalidations++;
    require(port == remote);
    remote = NULL;
    RLRelease(port);
}

/* Small requests check for the server's end only once in a number of requests, so the server dies before each of the first ones. */
START_TEST(the_invalidation_callback_may_release_the_port_during_a_one_way_request)
{
    use_own_directory();
    child = start_server_process(claim_only, &child_ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetInvalidationCallBack(remote, release_port);
    for (int count = 0; count < _i; count++)
        ck_assert_int_eq(ask(remote, 0, NULL, 0, NULL, NULL), kRLMessagePortSuccess);
    end_server_process();
    ck_assert_int_eq(ask(remote, 0, NULL, 0, NULL, NULL), kRLMessagePortIsInvalid);
    ck_assert_int_eq(invalidations, 1);
    ck_assert_ptr_null(remote);
    end();
}
END_TEST

/* ---- asynchronous requests ---- */

static int32_t results[REQUESTS];
static int callbacks[REQUESTS];
static bool releases_port;

static void count_reply(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, void *info)
{
    ++*(int *)info;
}

static void request_async(RLMessagePortRef port, int index, RLDataRef data, RLTimeInterval limit)
{
    results[index] = RLMessagePortSendRequestAsync(port, index, data, 20, limit, MODE, count_reply, &callbacks[index]);
}

/* Runs the loop, and sends requests that reuse the memory of those that have ended. */
static void run_and_send(void)
{
    RLRunLoopRunInMode(MODE, 0, false);
    other = RLMessagePortCreateRemote(NULL, RLSTR("com.example.other"));
    for (int index = 2; index < REQUESTS; index++)
        request_async(other, index, NULL, HUGE_VAL);
}

static void use_loop(RLMessagePortRef port, void *info)
{
    run_and_send();
    if (releases_port)
        release_port(port, info);
}

/* The first request fills the socket, so the second one has to wait for room, and finds that the server has ended. */
static void send_two(bool kills, RLTimeInterval limit)
{
    static uint8_t bytes[LARGE];
    static RLDataRef data;
    data = RLDataCreateWithBytesNoCopy(NULL, bytes, LARGE, kRLAllocatorNull);
    request_async(remote, 0, data, HUGE_VAL);
    require(results[0] == kRLMessagePortSuccess);
    if (kills)
        end_server_process();
    request_async(remote, 1, data, limit);
    RLRelease(data);
}

static void expect_one_callback_each(void)
{
    ck_assert_ptr_nonnull(other);
    while (callbacks[0] == 0 || callbacks[REQUESTS - 1] == 0)
        RLRunLoopRunInMode(MODE, 20, true);
    for (int pass = 0; pass < 4; pass++)
        RLRunLoopRunInMode(MODE, 0, false);
    for (int index = 0; index < REQUESTS; index++)
        ck_assert_msg(callbacks[index] == (results[index] == kRLMessagePortSuccess),
                      "request %d: result %d, %d callbacks", index, results[index], callbacks[index]);
    if (remote)
        RLRelease(remote);
    RLRelease(other);
    end_server(&server);
    end();
}

START_TEST(requests_call_back_once_if_the_invalidation_callback_runs_the_loop)
{
    use_own_directory();
    child = start_server_process(claim_only, &child_ready);
    serve(&server, RLSTR("com.example.other"), echo, NULL);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetInvalidationCallBack(remote, use_loop);
    releases_port = _i;
    send_two(true, HUGE_VAL);
    expect_one_callback_each();
}
END_TEST

static void use_loop_after_error(UNUSED const char *message, UNUSED void *info) { run_and_send(); }

/* The port is still valid in the error handler, and the second request has no time to wait. */
START_TEST(requests_call_back_once_if_the_error_handler_runs_the_loop)
{
    use_own_directory();
    child = start_server_process(send_nonsense, &child_ready);
    serve(&server, RLSTR("com.example.other"), echo, NULL);
    remote = remote_of_victim();
    RLSetErrorHandler(use_loop_after_error, NULL);
    send_two(false, 0);
    expect_one_callback_each();
}
END_TEST

static void end_thread(UNUSED RLMessagePortRef port, UNUSED void *info) { pthread_exit(NULL); }

static void *send_and_end(UNUSED void *info)
{
    remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetInvalidationCallBack(remote, end_thread);
    send_two(true, HUGE_VAL);
    ck_abort_msg("the invalidation callback was not called");
}

START_TEST(a_thread_that_ends_in_the_invalidation_callback_leaks_no_descriptor)
{
    use_own_directory();
    child = start_server_process(claim_only, &child_ready);
    int before = open_descriptors();
    join_thread(start_thread(send_and_end, NULL));
    RLRelease(remote);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(callbacks[0] + callbacks[1], 0);
    end();
}
END_TEST

/* The server dies after `count` requests. If `count` is negative, it dies after one that has filled the socket, so that the next
 * one waits for room. */
static void *send_one_way_and_end(void *count)
{
    remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetInvalidationCallBack(remote, end_thread);
    if (*(int *)count < 0)
        send_two(false, 0);
    for (int index = 0; index < *(int *)count; index++)
        require(ask(remote, 0, NULL, 0, NULL, NULL) == kRLMessagePortSuccess);
    end_server_process();
    ask(remote, 0, NULL, 0, NULL, NULL);
    ck_abort_msg("the invalidation callback was not called");
}

START_TEST(a_thread_that_ends_in_the_callback_of_a_one_way_request_leaks_no_descriptor)
{
    int count = _i - 1;
    use_own_directory();
    child = start_server_process(claim_only, &child_ready);
    int before = open_descriptors();
    join_thread(start_thread(send_one_way_and_end, &count));
    RLRelease(remote);
    ck_assert_int_eq(open_descriptors(), before);
    end();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-sending");
    TCase *tcase = add_case(suite, "sending", 30);
    tcase_add_loop_test(tcase, the_invalidation_callback_may_release_the_port_during_a_one_way_request, 0,
                        SMALL_REQUESTS);
    tcase_add_loop_test(tcase, requests_call_back_once_if_the_invalidation_callback_runs_the_loop, 0, 2);
    tcase_add_test(tcase, requests_call_back_once_if_the_error_handler_runs_the_loop);
    tcase_add_test(tcase, a_thread_that_ends_in_the_invalidation_callback_leaks_no_descriptor);
    tcase_add_loop_test(tcase, a_thread_that_ends_in_the_callback_of_a_one_way_request_leaks_no_descriptor, 0,
                        SMALL_REQUESTS);
    return suite;
}
