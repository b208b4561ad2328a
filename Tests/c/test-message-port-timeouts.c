/* Checks the time limits of requests (none at all, zero, not a number), and that each result has a text. */
#include "message-port.h"

static struct server server;
static RLMessagePortRef remote;
static RLTimeInterval remaining;

static RLDataRef note_remaining(RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    remaining = RLMessagePortGetRemainingTime(local);
    return RLRetain(data);
}

static void begin(void)
{
    use_own_directory();
    serve(&server, NAME, note_remaining, NULL);
    remote = RLMessagePortCreateRemote(NULL, NAME);
}

static void end(void)
{
    RLRelease(remote);
    end_server(&server);
    remove_own_directory();
}

static int32_t request(RLTimeInterval send_timeout, RLTimeInterval rcv_timeout, RLRunLoopMode mode)
{
    return RLMessagePortSendRequest(remote, 1, NULL, send_timeout, rcv_timeout, mode, NULL);
}

START_TEST(a_timeout_of_huge_val_never_expires)
{
    ck_assert_int_eq(request(HUGE_VAL, HUGE_VAL, MODE), kRLMessagePortSuccess);
    ck_assert(remaining == INFINITY);
    ck_assert_int_eq(request(1, 1000, MODE), kRLMessagePortSuccess);
    ck_assert(remaining > 0 && remaining <= 1000);
}
END_TEST

static void note_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    *(int32_t *)info = result;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static int32_t request_later(RLTimeInterval send_timeout, RLTimeInterval rcv_timeout, RLRunLoopMode mode,
                             int32_t *result)
{
    *result = 1;
    return RLMessagePortSendRequestAsync(remote, 1, NULL, send_timeout, rcv_timeout, mode, note_result, result);
}

START_TEST(an_async_timeout_of_huge_val_never_expires)
{
    int32_t result;
    ck_assert_int_eq(request_later(HUGE_VAL, HUGE_VAL, MODE, &result), kRLMessagePortSuccess);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, false), kRLRunLoopRunStopped);
    ck_assert_int_eq(result, kRLMessagePortSuccess);
    ck_assert(remaining == INFINITY);
}
END_TEST

static const RLTimeInterval none[] = {0, -0.0, -1, -1e300, -HUGE_VAL};

START_TEST(a_reply_timeout_of_0_polls_once)
{
    RLRunLoopMode other = RLSTR("nobody serves here");
    int32_t result;
    ck_assert_int_eq(request(1, none[_i], other), kRLMessagePortReceiveTimeout);
    ck_assert_int_eq(request_later(1, none[_i], other, &result), kRLMessagePortSuccess);
    ck_assert_int_eq(RLRunLoopRunInMode(other, 20, false), kRLRunLoopRunStopped);
    ck_assert_int_eq(result, kRLMessagePortReceiveTimeout);
}
END_TEST

static RLRunLoopMode waiting_mode;
static RLRunLoopRunResult nested[3];

static void run_modes(UNUSED void *info)
{
    nested[0] = RLRunLoopRunInMode(waiting_mode, 0, false);
    nested[1] = RLRunLoopRunInMode(RLSTR("nothing here"), 0, false);
    nested[2] = RLRunLoopRunInMode(waiting_mode, 0, true);
}

/* As in CF, whose source of replies is in the mode. */
START_TEST(the_mode_of_a_waiting_thread_is_not_empty)
{
    waiting_mode = RLSTR("nobody serves here");
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), waiting_mode, run_modes, NULL);
    ck_assert_int_eq(request(1, 0, waiting_mode), kRLMessagePortReceiveTimeout);
    ck_assert_int_eq(nested[0], kRLRunLoopRunTimedOut);
    ck_assert_int_eq(nested[1], kRLRunLoopRunFinished);
    ck_assert_int_eq(nested[2], kRLRunLoopRunTimedOut);
    ck_assert_int_eq(RLRunLoopRunInMode(waiting_mode, 1e6, false), kRLRunLoopRunFinished);
}
END_TEST

START_TEST(a_send_timeout_of_0_does_not_wait_for_room)
{
    RLMessagePortSetCapacity(server.port, 1);
    ck_assert_int_eq(request(none[_i], 0, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(request(none[_i], 0, NULL), kRLMessagePortSendTimeout);
    ck_assert_int_eq(request(none[_i], 1e9, MODE), kRLMessagePortSendTimeout);
}
END_TEST

static void *run_loop_of_server(void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    gate_open(info);
    while (RLMessagePortIsValid(server.port))
        RLRunLoopRunInMode(MODE, 1e9, false);
    return NULL;
}

START_TEST(a_send_timeout_of_huge_val_waits_for_room_without_limit)
{
    gate is_served;
    gate_init(&is_served);
    RLMessagePortSetCapacity(server.port, 1);
    ck_assert_int_eq(request(HUGE_VAL, 0, NULL), kRLMessagePortSuccess);
    pthread_t thread = start_thread(run_loop_of_server, &is_served);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(request(HUGE_VAL, 0, NULL), kRLMessagePortSuccess);
    gate_pass(&is_served);
    RLMessagePortInvalidate(server.port);
    join_thread(thread);
}
END_TEST

START_TEST(a_timeout_of_nan_is_reported)
{
    int32_t result;
    ck_assert_int_eq(request(NAN, 1, MODE), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequest", "sendTimeout", "not a number");
    ck_assert_int_eq(request(1, NAN, MODE), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequest", "rcvTimeout", "not a number");
    ck_assert_int_eq(request_later(NAN, 1, MODE, &result), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequestAsync", "sendTimeout", "not a number");
    ck_assert_int_eq(request_later(1, NAN, MODE, &result), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequestAsync", "rcvTimeout", "not a number");
}
END_TEST

START_TEST(each_result_has_a_text)
{
    const char *unknown = RLMessagePortResultGetText(-6);
    for (int32_t result = -5; result <= 0; result++) {
        const char *text = RLMessagePortResultGetText(result);
        ck_assert_str_ne(text, unknown);
        ck_assert_ptr_eq(text, RLMessagePortResultGetText(result));
        for (int32_t other = -5; other < result; other++)
            ck_assert_str_ne(text, RLMessagePortResultGetText(other));
    }
    static const int32_t others[] = {1, -7, 4711, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_str_eq(RLMessagePortResultGetText(others[i]), "unknown result");
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-timeouts");
    TCase *tcase = add_case(suite, "timeouts", 30);
    int count = (int)(sizeof none / sizeof *none);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_timeout_of_huge_val_never_expires);
    tcase_add_test(tcase, an_async_timeout_of_huge_val_never_expires);
    tcase_add_loop_test(tcase, a_reply_timeout_of_0_polls_once, 0, count);
    tcase_add_test(tcase, the_mode_of_a_waiting_thread_is_not_empty);
    tcase_add_loop_test(tcase, a_send_timeout_of_0_does_not_wait_for_room, 0, count);
    tcase_add_test(tcase, a_send_timeout_of_huge_val_waits_for_room_without_limit);
    tcase_add_test(tcase, a_timeout_of_nan_is_reported);
    tcase_add_test(tcase, each_result_has_a_text);
    return suite;
}
