/* Checks a ring whose server is another process, which dies, ends, or is stopped for a while. */
#include "message-port-ring.h"

/* ---- the server is another process ---- */

enum { MORE_THAN_FIT = 6000 };

static RLDataRef end_after(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, void *info)
{
    if (++shared->received % 1000 != 0)
        return NULL;
    if (info)
        kill(getpid(), SIGKILL);
    RLMessagePortInvalidate(local);
    RLRunLoopStop(RLRunLoopGetCurrent());
    return NULL;
}

static void server_that_dies(int ready)
{
    serve(&server, NAME, end_after, &server);
    say_ready(ready);
    RLRunLoopRun();
}

static void server_that_ends(int ready)
{
    serve(&server, NAME, end_after, NULL);
    say_ready(ready);
    RLRunLoopRun();
    shared->answers = 1;
    pause();
}

/* A client notices the end at one of its next messages, and can connect again immediately. */
START_TEST(a_client_notices_that_the_server_ended_while_it_sends)
{
    end_server(&server);
    server.port = NULL;
    int ready, status;
    for (int round = 0; round < 10; round++) {
        pid_t child = start_server_process(_i ? server_that_dies : server_that_ends, &ready);
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        ck_assert_ptr_nonnull(remote);
        int count = 0, result;
        do
            result = send_one(remote, 0, count, SMALL, 50);
        while (result == kRLMessagePortSuccess && count++ < 100000);
        ck_assert_int_eq(result, kRLMessagePortIsInvalid);
        ck_assert_int_ge(count, 1000);
        ck_assert(!RLMessagePortIsValid(remote));
        RLRelease(remote);
        ck_assert_int_eq(rings(), 0);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        close(ready);
    }
}
END_TEST

/* Lets another process serve the name, and connects to it. */
static RLMessagePortRef serve_elsewhere(void (*body)(int ready), pid_t *child)
{
    int ready;
    end_server(&server);
    server.port = NULL;
    *child = start_server_process(body, &ready);
    close(ready);
    return RLMessagePortCreateRemote(NULL, NAME);
}

/* The server is awake, so it receives no doorbell; still its end must be noticed immediately. */
START_TEST(the_end_of_an_awake_server_is_noticed_at_once)
{
    pid_t child;
    RLMessagePortRef remote = serve_elsewhere(server_that_ends, &child);
    int id = send_until_ring(remote);
    kill(child, SIGSTOP);
    for (; id < 1000; id++)
        ck_assert_int_eq(send_one(remote, 0, id, SMALL, 50), kRLMessagePortSuccess);
    kill(child, SIGCONT);
    while (!shared->answers)
        sched_yield();
    ck_assert_int_eq(send_one(remote, 0, 1000, SMALL, 50), kRLMessagePortIsInvalid);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static RLDataRef count_call(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&shared->received, 1);
    return NULL;
}

static void counting_server(int ready)
{
    serve(&server, NAME, count_call, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

/* The server is certainly dead. If it was asleep, the next message reports that; if it was not, one of the next 64. */
START_TEST(sending_to_a_dead_server_soon_fails)
{
    pid_t child;
    RLMessagePortRef remote = serve_elsewhere(counting_server, &child);
    int id = send_until_ring(remote), first = id;
    ck_assert_int_eq(rings(), 1);
    if (_i)
        kill(child, SIGSTOP);
    else
        while (shared->received < first)
            sched_yield();
    for (; _i && id < first + 100 + 20 * _i; id++)
        ck_assert_int_eq(send_one(remote, 0, id, SMALL, 50), kRLMessagePortSuccess);
    end_process(child, SIGKILL);
    int more = 0;
    while (send_one(remote, 0, id, SMALL, 50) == kRLMessagePortSuccess)
        more++;
    ck_assert_int_lt(more, LIVENESS_INTERVAL);
    ck_assert_int_eq(send_one(remote, 0, id, SMALL, 50), kRLMessagePortIsInvalid);
    RLRelease(remote);
}
END_TEST

/* A stopped server is not dead. */
START_TEST(a_stopped_server_does_not_count_as_dead)
{
    pid_t child;
    RLMessagePortRef remote = serve_elsewhere(counting_server, &child);
    kill(child, SIGSTOP);
    int id = 0;
    while (send_one(remote, 0, id, SMALL, 0) == kRLMessagePortSuccess)
        id++;
    ck_assert_int_eq(send_one(remote, 0, id, SMALL, 0.01), kRLMessagePortSendTimeout);
    kill(child, SIGCONT);
    for (; id < MORE_THAN_FIT; id++)
        ck_assert_int_eq(send_one(remote, 0, id, SMALL, 50), kRLMessagePortSuccess);
    while (shared->received < MORE_THAN_FIT)
        sched_yield();
    end_process(child, SIGKILL);
    RLRelease(remote);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-server");
    TCase *tcase = add_case(suite, "ring", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_loop_test(tcase, a_client_notices_that_the_server_ended_while_it_sends, 0, 2);
    tcase_add_test(tcase, the_end_of_an_awake_server_is_noticed_at_once);
    tcase_add_loop_test(tcase, sending_to_a_dead_server_soon_fails, 0, 5);
    tcase_add_test(tcase, a_stopped_server_does_not_count_as_dead);
    return suite;
}
