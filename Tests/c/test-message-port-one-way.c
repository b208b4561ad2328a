/* Requests that want no reply: this process serves, another has sent them all. */
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

START_TEST(requests_without_reply_take_turns_with_others)
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

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-one-way");
    TCase *tcase = add_case(suite, "one way", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, requests_without_reply_take_turns_with_others);
    tcase_add_loop_test(tcase, requests_wait_when_the_source_leaves_the_mode, 0, 2);
    return suite;
}
