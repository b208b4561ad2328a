/* Checks one-way requests: this process serves, and another one has sent all requests before, and may be gone. */
#include "message-port.h"

static int received, seen_by_source;
static RLRunLoopSourceRef other_source;

static RLDataRef receive_in_order(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(id == received);
    received++;
    if (id == 10 || id == 99)
        RLRunLoopStop(RLRunLoopGetCurrent());
    if (id == 20)
        RLRunLoopSourceSignal(other_source);
    return NULL;
}

static void see_received(UNUSED void *info) { seen_by_source = received; }

static void send_hundred(UNUSED void *info)
{
    RLMessagePortRef own = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(own != NULL);
    for (int id = 0; id < 100; id++)
        child_assert(RLMessagePortSendRequest(own, id, NULL, 20, 0, NULL, NULL) == kRLMessagePortSuccess);
}

START_TEST(one_way_requests_take_turns_with_other_sources)
{
    struct server server;
    serve(&server, NAME, receive_in_order, NULL);
    other_source = make_source(0, see_received, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other_source, MODE);
    ck_assert_int_eq(run_in_child(send_hundred, NULL), 0);
    RLRunLoopRun();
    ck_assert_int_eq(received, 11);
    for (int more = 1; more <= 3; more++) {
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, true), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(received, 11 + more);
    }
    RLRunLoopRun();
    ck_assert_int_eq(received, 100);
    ck_assert_int_eq(seen_by_source, 21);
    drop_source(other_source);
    end_server(&server);
}
END_TEST

static struct server leaving;

static RLDataRef receive_and_leave(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(id == received);
    if (received++ == 0)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), leaving.source, MODE);
    return NULL;
}

START_TEST(requests_wait_when_the_source_leaves_the_mode)
{
    serve(&leaving, NAME, receive_and_leave, NULL);
    if (_i)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), leaving.source, RLSTR("other"));
    ck_assert_int_eq(run_in_child(send_hundred, NULL), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunFinished);
    ck_assert_int_eq(received, 1);
    end_server(&leaving);
}
END_TEST

/* ---- another descriptor ---- */

enum { ALL = 4 };
static int client_may_go[2], has_sent[2], other_ends[2], noted;

/* Stops after the first request, which is served alone, and after the last note. */
static void note_and_stop(const char *text)
{
    note(text);
    if (++noted == 1 || noted == ALL)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static RLDataRef note_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                              UNUSED void *info)
{
    note_and_stop("request");
    return NULL;
}

static int other_descriptor(UNUSED void *info) { return other_ends[0]; }

static void note_descriptor(UNUSED void *info)
{
    char byte;
    require(read(other_ends[0], &byte, 1) == 1);
    note_and_stop("descriptor");
}

static void send_one_then_two(void)
{
    char byte;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    for (int id = 0; id < 3; id++) {
        child_assert(id != 1 || read(client_may_go[0], &byte, 1) == 1);
        child_assert(RLMessagePortSendRequest(remote, id, NULL, 20, 0, NULL, NULL) == kRLMessagePortSuccess);
    }
    child_assert(write(has_sent[1], "x", 1) == 1);
    pause();
}

/* Two requests and the descriptor become ready in this order, and one system call reports them all. */
START_TEST(a_ready_descriptor_is_served_before_the_next_request)
{
    char byte;
    struct server server;
    serve(&server, NAME, note_request, NULL);
    require(pipe(client_may_go) == 0 && pipe(has_sent) == 0);
    make_pipe(other_ends);
    other_source = make_port_source(0, other_descriptor, note_descriptor, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other_source, MODE);
    pid_t child = fork_child();
    if (child == 0)
        send_one_then_two();
    RLRunLoopRun();
    assert_notes("request");
    require(write(client_may_go[1], "x", 1) == 1 && read(has_sent[0], &byte, 1) == 1);
    require(write(other_ends[1], "x", 1) == 1);
    RLRunLoopRun();
    assert_notes("request descriptor request");
    end_process(child, SIGKILL);
    drop_source(other_source);
    close_pipe(other_ends);
    end_server(&server);
}
END_TEST

/* ---- a client that is gone, and has not read what was sent to it ---- */

enum { IN_FILE = 80000, ASKED = 120, LARGE = 3, LAST = 3 };

static RLDataRef receive_and_answer(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    static const uint8_t bytes[20000];
    require(id == received);
    received++;
    return RLDataGetLength(data) == 1 ? RLDataCreate(NULL, bytes, sizeof bytes) : NULL;
}

static void ignore(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info) {}

/* Sends requests whose replies it does not wait for, then one-way requests, and exits. */
static void send_and_go(int count)
{
    static const uint8_t bytes[IN_FILE];
    char byte;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef one = RLDataCreate(NULL, bytes, 1), large = RLDataCreate(NULL, bytes, IN_FILE);
    int id = 0;
    for (; id < count; id++)
        child_assert(RLMessagePortSendRequestAsync(remote, id, one, 20, 1e9, MODE, ignore, NULL) ==
                     kRLMessagePortSuccess);
    for (int last = 0; last < LARGE; last++)
        child_assert(RLMessagePortSendRequest(remote, id++, large, 20, 0, NULL, NULL) == kRLMessagePortSuccess);
    child_assert(read(client_may_go[0], &byte, 1) == 1);
    for (int last = 0; last < LAST; last++)
        child_assert(RLMessagePortSendRequest(remote, id++, NULL, 20, 0, NULL, NULL) == kRLMessagePortSuccess);
    _exit(0);
}

/* The kernel then reports once that the connection was reset, before it delivers the rest, and replies to the client cannot be
 * sent. */
START_TEST(requests_arrive_although_their_client_left_replies_unread)
{
    static const int asked_before[] = {0, 1, ASKED};
    int asked = asked_before[_i];
    struct server server;
    serve(&server, NAME, receive_and_answer, NULL);
    require(pipe(client_may_go) == 0);
    pid_t child = fork_child();
    if (child == 0)
        send_and_go(asked);
    while (received < (asked < ASKED ? asked + LARGE : 2))
        RLRunLoopRunInMode(MODE, 1, true);
    while (RLRunLoopRunInMode(MODE, 0, true) == kRLRunLoopRunHandledSource) {}
    ck_assert_int_eq(received < asked, asked == ASKED);
    require(write(client_may_go[1], "x", 1) == 1);
    end_process(child, 0);
    while (received < asked + LARGE + LAST)
        RLRunLoopRunInMode(MODE, 1e10, true);
    end_server(&server);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-one-way");
    TCase *tcase = add_case(suite, "one way", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, one_way_requests_take_turns_with_other_sources);
    tcase_add_loop_test(tcase, requests_wait_when_the_source_leaves_the_mode, 0, 2);
    tcase_add_test(tcase, a_ready_descriptor_is_served_before_the_next_request);
    tcase_add_loop_test(tcase, requests_arrive_although_their_client_left_replies_unread, 0, 3);
    return suite;
}
