/* Checks nested runs inside the callback of a port with a ring: what they take, or what leaves the loop in them, must not be expected
 * by the outer run. */
#include "message-port-ring.h"

enum { FEW = 20 };
enum { FIRST_IN_PACKET, FIRST_ASKS, FIRST_IN_RING, WAYS };
static int way;

static void ignore_reply(UNUSED RLMessagePortRef remote, UNUSED int32_t result, UNUSED RLDataRef reply,
                         UNUSED void *info)
{
}

/* The first request arrives in a packet, or all are in the ring. */
static void send_few(void)
{
    RLMessagePortRef remote = connect_to_server();
    int id = send_until_ring(remote);
    while (shared->answers == 0)
        usleep(1000);
    RLDataRef large = data_of(0, id, IN_PACKET);
    if (way == FIRST_IN_PACKET)
        child_assert(RLMessagePortSendRequest(remote, id, large, 50, 0, NULL, NULL) == kRLMessagePortSuccess);
    if (way == FIRST_ASKS)
        child_assert(RLMessagePortSendRequestAsync(remote, id, large, 50, 50, MODE, ignore_reply, NULL) ==
                     kRLMessagePortSuccess);
    for (int more = 0; more < FEW; more++)
        child_assert(send_one(remote, 0, id + 1 + more, SMALL, 50) == kRLMessagePortSuccess);
    shared->answers = 2;
    pause();
}

static bool ends_port;
static int calls;

/* The first call makes nested runs, the first of which calls this again. That may end the port. */
static RLDataRef receive_nested(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&shared->received, 1);
    if (shared->answers < 2)
        return NULL;
    calls++;
    if (calls == 1) {
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
        while (RLRunLoopRunInMode(MODE, 0.05, true) == kRLRunLoopRunHandledSource) {}
        ck_assert_int_ge(calls, 2);
    } else if (calls == 2 && ends_port) {
        RLMessagePortInvalidate(local);
    }
    return NULL;
}

static RLRunLoopSourceRef keeper;
static pid_t client;

/* Starts a client, waits until it has sent all, and makes the run in which the first of its last requests arrives. */
static void run_nested(void)
{
    begin_with(receive_nested);
    client = start(send_few);
    while (!shared->has_ring || shared->received < shared->sent)
        RLRunLoopRunInMode(MODE, 0.05, true);
    shared->answers = 1;
    while (shared->answers < 2)
        sched_yield();
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, MODE);
    while (calls == 0)
        RLRunLoopRunInMode(MODE, 50, true);
}

static void end_nested(void)
{
    drop_source(keeper);
    end_process(client, SIGKILL);
    finish();
}

START_TEST(a_port_that_ends_in_a_nested_run_is_not_called_again)
{
    way = _i;
    ends_port = true;
    run_nested();
    ck_assert_int_eq(calls, 2);
    RLRelease(server.source);
    RLRelease(server.port);
    server.port = NULL;
    for (int run = 0; run < 3; run++)
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0.05, true), kRLRunLoopRunTimedOut);
    end_nested();
}
END_TEST

START_TEST(the_loop_is_idle_after_nested_runs_have_taken_all)
{
    way = _i;
    run_nested();
    ck_assert_int_eq(calls, way == FIRST_IN_RING ? FEW : FEW + 1);
    RLRunLoopRunInMode(MODE, 0, true);
    ck_assert(RLRunLoopIsIdleInMode(MODE));
    end_nested();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-nested");
    TCase *tcase = add_case(suite, "nested", 60);
    tcase_add_loop_test(tcase, a_port_that_ends_in_a_nested_run_is_not_called_again, 0, WAYS);
    tcase_add_loop_test(tcase, the_loop_is_idle_after_nested_runs_have_taken_all, 0, WAYS);
    return suite;
}
