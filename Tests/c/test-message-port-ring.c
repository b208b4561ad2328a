/* Checks one-way messages between processes, so many that client and server share a ring: order, back-pressure, sleeping
 * and waking, and the deaths of clients. Deaths of servers: test-message-port-ring-server.c. */
#include "message-port-ring.h"

/* ---- order ---- */

enum { MIXED = 20000, BURSTING = 60000 };

static void send_mixed(RLMessagePortRef remote, uint8_t sender, int count)
{
    static const size_t sizes[] = {0, 1, SMALL, 100, LARGEST_IN_RING, LARGEST_IN_RING + 1, IN_PACKET, IN_PIECES};
    unsigned seed = 7u + sender;
    for (int id = 0; id < count; id++) {
        unsigned kind = (unsigned)rand_r(&seed) >> 8;
        size_t size = kind % 16 ? SMALL : sizes[kind / 16 % 8];
        if (size == 0 && sender > 0)
            size = 1;
        if (kind / 256 % 64 == 0)
            ask_one(remote, sender, id, size > 0 ? size : 1);
        else
            child_assert(send_one(remote, sender, id, size, 50) == kRLMessagePortSuccess);
    }
}

static void be_mixed_client(void)
{
    RLMessagePortRef remote = connect_to_server();
    send_mixed(remote, 0, SCALED(MIXED));
    child_assert(rings() == 1);
    RLRelease(remote);
    child_assert(rings() == 0);
}

START_TEST(messages_through_ring_and_socket_keep_their_order)
{
    endless = _i;
    pid_t child = start(be_mixed_client);
    receive_until(SCALED(MIXED));
    end_process(child, 0);
    RLRunLoopRunInMode(MODE, 0.01, false);
    ck_assert_int_eq(shared->received, shared->sent);
    ck_assert_int_eq(rings(), 0);
}
END_TEST

static RLMessagePortRef common;

static void *send_as_thread(void *info)
{
    send_mixed(common, (uint8_t)(intptr_t)info, SCALED(5000));
    return NULL;
}

static void be_client_of_threads(void)
{
    common = connect_to_server();
    on_threads(SENDERS, send_as_thread);
    child_assert(rings() == 1);
    RLRelease(common);
}

START_TEST(threads_of_a_client_share_a_ring)
{
    endless = _i;
    pid_t child = start(be_client_of_threads);
    receive_until(SENDERS * SCALED(5000));
    end_process(child, 0);
}
END_TEST

/* ---- sleeping and waking ---- */

/* Each burst finds the server asleep, about to sleep, or still busy with the previous one. No later doorbell makes up for a lost
 * one. */
static void be_bursting_client(void)
{
    RLMessagePortRef remote = connect_to_server();
    unsigned seed = 3;
    int id = 0;
    while (id < SCALED(BURSTING)) {
        int count = rand_r(&seed) % 8 == 0 ? 40 : 1 + rand_r(&seed) % 3;
        for (int index = 0; index < count && id < SCALED(BURSTING); index++, id++) {
            size_t size = index + 1 == count && rand_r(&seed) % 4 == 0 ? LARGEST_IN_RING + 1 : SMALL;
            child_assert(send_one(remote, 0, id, size, 50) == kRLMessagePortSuccess);
        }
        if (rand_r(&seed) % 64 == 0 && id < SCALED(BURSTING))
            ask_one(remote, 0, id++, SMALL);
        while (shared->received < id - rand_r(&seed) % 2)
            sched_yield();
    }
    while (shared->received < id)
        sched_yield();
    child_assert(rings() == 1);
    RLRelease(remote);
}

START_TEST(every_burst_through_a_ring_arrives)
{
    endless = _i;
    pid_t child = start(be_bursting_client);
    receive_until(SCALED(BURSTING));
    end_process(child, 0);
    ck_assert_int_eq(shared->received, shared->sent);
}
END_TEST

static void send_thousand(void)
{
    RLMessagePortRef remote = connect_to_server();
    int first = send_until_ring(remote);
    for (int id = first; id < first + 1000; id++)
        child_assert(send_one(remote, 0, id, SMALL, 50) == kRLMessagePortSuccess);
}

/* The client is gone, and what it left in the ring is delivered: one message per run, even after the loop has served another
 * mode. */
START_TEST(ring_entries_of_a_dead_client_are_delivered)
{
    RLRunLoopSourceRef other = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other, RLSTR("other"));
    pid_t child = start(send_thousand);
    serve_until_ring();
    end_process(child, 0);
    int before = shared->received;
    for (int run = 1; run <= 100; run++) {
        while (shared->received < before + run)
            RLRunLoopRunInMode(MODE, 1, true);
        ck_assert_int_eq(shared->received, before + run);
        RLRunLoopRunInMode(RLSTR("other"), 0, false);
    }
    receive_until(shared->sent);
    RLRunLoopRunInMode(MODE, 0.01, false);
    ck_assert_int_eq(shared->received, shared->sent);
    ck_assert_int_eq(rings(), 0);
    drop_source(other);
}
END_TEST

/* The server may read the doorbell of the first entries before the large request that follows them. */
static void send_large_between(void)
{
    RLMessagePortRef remote = connect_to_server();
    int first = send_until_ring(remote);
    for (int id = first; id < first + 36; id++)
        child_assert(send_one(remote, 0, id, id == first + 30 ? IN_PACKET : SMALL, 50) == kRLMessagePortSuccess);
    shared->answers = 1;
    while (shared->received < first + 36)
        sched_yield();
    RLRelease(remote);
}

START_TEST(ring_entries_behind_a_large_request_wake_the_server)
{
    endless = _i;
    pid_t child = start(send_large_between);
    serve_until_ring();
    while (!shared->answers)
        sched_yield();
    receive_until(shared->sent);
    end_process(child, 0);
}
END_TEST

static void kill_itself_while_sending(void)
{
    RLMessagePortRef remote = connect_to_server();
    int first = send_until_ring(remote);
    for (int id = first; id < first + 500; id++)
        child_assert(send_one(remote, 0, id, SMALL, 50) == kRLMessagePortSuccess);
    shared->answers = 1;
    kill(getpid(), SIGKILL);
}

START_TEST(a_killed_client_leaves_no_ring)
{
    int before = open_descriptors();
    pid_t child = start(kill_itself_while_sending);
    serve_until_ring();
    while (!shared->answers)
        sched_yield();
    end_process(child, SIGKILL);
    receive_until(shared->sent);
    RLRunLoopRunInMode(MODE, 0.01, false);
    ck_assert_int_eq(shared->received, shared->sent);
    ck_assert_int_eq(rings(), 0);
    ck_assert_int_le(open_descriptors(), before + 2); /* the loop's own descriptors, which its first run opens */
}
END_TEST

/* ---- back-pressure ---- */

enum { MORE_THAN_FIT = 20000 };

static void fill(void)
{
    RLMessagePortRef remote = connect_to_server();
    int id = send_until_ring(remote);
    while (!shared->answers)
        sched_yield();
    while (send_one(remote, 0, id, SMALL, 0) == kRLMessagePortSuccess)
        id++;
    double before = monotonic_seconds();
    child_assert(send_one(remote, 0, id, SMALL, 0.02) == kRLMessagePortSendTimeout);
    child_assert(monotonic_seconds() - before >= 0.02);
    child_assert(send_one(remote, 0, id, IN_PACKET, 0) == kRLMessagePortSendTimeout);
    shared->answers = 2;
    /* From here on the server reads. */
    for (; id < MORE_THAN_FIT; id++)
        child_assert(send_one(remote, 0, id, SMALL, 50) == kRLMessagePortSuccess);
    RLRelease(remote);
}

START_TEST(a_full_ring_and_a_full_socket_hold_the_sender_back)
{
    endless = _i;
    pid_t child = start(fill);
    serve_until_ring();
    receive_until(shared->sent);
    int before = shared->received;
    shared->answers = 1;
    while (shared->answers != 2)
        sched_yield();
    ck_assert_int_gt(shared->sent - before, 5000);
    ck_assert_int_lt(shared->sent, MORE_THAN_FIT);
    ck_assert_int_eq(shared->received, before);
    receive_until(MORE_THAN_FIT);
    end_process(child, 0);
}
END_TEST

/* ---- which connections have a ring ---- */

static void look_for_rings(UNUSED void *info)
{
    RLMessagePortRef remote = connect_to_server();
    int id = 0;
    for (int round = 0; round < 10; round++) {
        for (int index = 0; index < RING_THRESHOLD - 1; index++)
            child_assert(send_one(remote, 0, id++, SMALL, 1) == kRLMessagePortSuccess);
        ask_one(remote, 0, id++, SMALL);
    }
    for (int index = 0; index < 2 * RING_THRESHOLD; index++)
        child_assert(send_one(remote, 0, id++, LARGEST_IN_RING + 1, 1) == kRLMessagePortSuccess);
    child_assert(rings() == 0);
    while (rings() == 0)
        child_assert(send_one(remote, 0, id++, SMALL, 1) == kRLMessagePortSuccess);
    int before = open_descriptors();
    ask_one(remote, 0, id++, SMALL);
    child_assert(open_descriptors() <= before + 2); /* the loop's own descriptors */
    RLRelease(remote);
    child_assert(rings() == 0);
    shared->answers = 1;
}

static void look_as_process(void) { look_for_rings(NULL); }

START_TEST(only_clients_that_send_many_messages_have_a_ring)
{
    pid_t child = start(look_as_process);
    while (!shared->answers)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(child, 0);
    RLRunLoopRunInMode(MODE, 0.01, false);
    ck_assert_int_eq(shared->received, shared->sent);
    ck_assert_int_eq(rings(), 0);
}
END_TEST

/* After fork() only the parent has the ring. */
static void fork_with_ring(void)
{
    RLMessagePortRef remote = connect_to_server();
    int id = send_until_ring(remote), end = id + 100;
    pid_t child = fork_child();
    if (child == 0) {
        child_assert(send_one(remote, 0, id, SMALL, 50) == kRLMessagePortIsInvalid);
        RLRelease(remote);
        child_assert(rings() == 0);
        _exit(0);
    }
    int status;
    child_assert(waitpid(child, &status, 0) == child && status == 0);
    for (; id < end; id++)
        child_assert(send_one(remote, 0, id, SMALL, 50) == kRLMessagePortSuccess);
    RLRelease(remote);
    shared->answers = 1;
}

START_TEST(a_client_with_a_ring_may_fork)
{
    pid_t child = start(fork_with_ring);
    while (!shared->answers || shared->received < shared->sent)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(child, 0);
}
END_TEST

/* ---- two loops ---- */

static void *run_loop(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    while (!shared->answers)
        RLRunLoopRunInMode(MODE, 0.05, true);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    return NULL;
}

static RLDataRef count_only(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    check_data(data, id);
    count_received();
    return RLRetain(data);
}

START_TEST(two_loops_serve_a_ring)
{
    end_server(&server);
    serve(&server, NAME, count_only, NULL);
    pthread_t thread = start_thread(run_loop, NULL);
    pid_t child = start(be_mixed_client);
    receive_until(SCALED(MIXED));
    end_process(child, 0);
    shared->answers = 1;
    join_thread(thread);
    ck_assert_int_eq(shared->received, shared->sent);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring");
    TCase *tcase = add_case(suite, "ring", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_loop_test(tcase, messages_through_ring_and_socket_keep_their_order, 0, 2);
    tcase_add_loop_test(tcase, threads_of_a_client_share_a_ring, 0, 2);
    tcase_add_loop_test(tcase, every_burst_through_a_ring_arrives, 0, 2);
    tcase_add_test(tcase, ring_entries_of_a_dead_client_are_delivered);
    tcase_add_loop_test(tcase, ring_entries_behind_a_large_request_wake_the_server, 0, 2);
    tcase_add_test(tcase, a_killed_client_leaves_no_ring);
    tcase_add_loop_test(tcase, a_full_ring_and_a_full_socket_hold_the_sender_back, 0, 2);
    tcase_add_test(tcase, only_clients_that_send_many_messages_have_a_ring);
    tcase_add_test(tcase, a_client_with_a_ring_may_fork);
    tcase_add_test(tcase, two_loops_serve_a_ring);
    return suite;
}
