/* Checks what CFMessagePort lacks: sending without waiting for the reply, and answering later, from any thread. */
#include "message-port-child.h"

/* ---- a server that answers later ---- */

static RLMessagePortRequestRef kept[64];
static int kept_count;

static RLDataRef keep(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == 0)
        return RLRetain(data);
    RLMessagePortRequestRef request = RLMessagePortCopyRequest(local);
    require(RLGetTypeID(request) == RLMessagePortRequestGetTypeID());
    if (id == 1) { /* answered when request 2 arrives */
        kept[kept_count++] = request;
        return text_data("not this one");
    }
    if (id == 2) {
        for (int index = kept_count - 1; index >= 0; index--) {
            char text[16];
            snprintf(text, sizeof text, "later %d", index);
            RLDataRef reply = text_data(text);
            require(RLMessagePortRequestReply(kept[index], reply));
            RLRelease(reply);
            RLRelease(kept[index]);
        }
        kept_count = 0;
        require(RLMessagePortRequestReply(request, NULL));
    }
    /* Any other request is dropped without an answer. */
    RLRelease(request);
    return NULL;
}

static void begin_process(void) { begin_child(keep); }

static struct server local_server;
static bool in_process;

static void begin_local(void)
{
    in_process = true;
    use_own_directory();
    serve(&local_server, NAME, keep, NULL);
    remote = RLMessagePortCreateRemote(NULL, NAME);
}

static void end_local(void)
{
    RLRelease(remote);
    end_server(&local_server);
    remove_own_directory();
}

/* ---- a client that does not wait ---- */

struct later {
    int calls;
    int32_t result;
    char text[32];
    bool had_reply;
    bool ends_run;
};

static void note_reply(RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    struct later *later = info;
    require(port == remote);
    later->calls++;
    later->result = result;
    later->had_reply = reply != NULL;
    if (reply)
        snprintf(later->text, sizeof later->text, "%.*s", (int)RLDataGetLength(reply),
                 (const char *)RLDataGetBytePtr(reply));
    if (later->ends_run)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static int32_t send_async(int32_t id, const char *text, RLTimeInterval limit, RLRunLoopMode mode, struct later *later)
{
    RLDataRef data = text_data(text);
    int32_t result = RLMessagePortSendRequestAsync(remote, id, data, 1, limit, mode, note_reply, later);
    RLRelease(data);
    return result;
}

START_TEST(callback_receives_the_reply)
{
    struct later later = {.ends_run = true};
    ck_assert_int_eq(send_async(0, "abc", 20, MODE, &later), kRLMessagePortSuccess);
    ck_assert_int_eq(later.calls, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, false), kRLRunLoopRunStopped);
    ck_assert_int_eq(later.calls, 1);
    ck_assert_int_eq(later.result, kRLMessagePortSuccess);
    ck_assert_str_eq(later.text, "abc");
}
END_TEST

START_TEST(a_pending_request_keeps_its_mode_from_being_empty)
{
    struct later later = {0};
    RLRunLoopMode mode = RLSTR("later");
    if (in_process)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), local_server.source, mode);
    ck_assert_int_eq(send_async(0, "abc", 20, mode, &later), kRLMessagePortSuccess);
    while (later.calls == 0)
        ck_assert_int_ne(RLRunLoopRunInMode(mode, 20, true), kRLRunLoopRunFinished);
    if (in_process)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), local_server.source, mode);
    ck_assert_int_eq(RLRunLoopRunInMode(mode, 0.1, true), kRLRunLoopRunFinished);
    ck_assert_int_eq(later.calls, 1);
}
END_TEST

START_TEST(a_missing_reply_is_a_timeout)
{
    struct later later = {.ends_run = true};
    ck_assert_int_eq(send_async(1, "abc", 0.05, MODE, &later), kRLMessagePortSuccess);
    RLRunLoopRunInMode(MODE, 20, false);
    ck_assert_int_eq(later.calls, 1);
    ck_assert_int_eq(later.result, kRLMessagePortReceiveTimeout);
    ck_assert(!later.had_reply);
    /* The late reply is ignored. */
    ck_assert_int_eq(ask(remote, 2, NULL, 20, MODE, NULL), kRLMessagePortSuccess);
    RLRunLoopRunInMode(MODE, 0.1, false);
    ck_assert_int_eq(later.calls, 1);
}
END_TEST

START_TEST(a_dropped_request_is_reported_to_its_sender)
{
    ck_assert_int_eq(ask(remote, 3, "x", 1e9, MODE, NULL), kRLMessagePortTransportError);
    struct later later = {.ends_run = true};
    ck_assert_int_eq(send_async(3, "x", 1e9, MODE, &later), kRLMessagePortSuccess);
    RLRunLoopRunInMode(MODE, 20, false);
    ck_assert_int_eq(later.result, kRLMessagePortTransportError);
}
END_TEST

START_TEST(requests_may_be_answered_in_any_order)
{
    struct later later[20] = {{0}};
    for (int index = 0; index < 20; index++)
        ck_assert_int_eq(send_async(1, "x", 20, MODE, &later[index]), kRLMessagePortSuccess);
    ck_assert_int_eq(ask(remote, 2, NULL, 20, MODE, NULL), kRLMessagePortSuccess);
    while (later[0].calls == 0)
        RLRunLoopRunInMode(MODE, 1, true);
    for (int index = 0; index < 20; index++) {
        char text[16];
        snprintf(text, sizeof text, "later %d", index);
        ck_assert_int_eq(later[index].calls, 1);
        ck_assert_str_eq(later[index].text, text);
    }
}
END_TEST

START_TEST(the_end_of_the_server_is_reported_to_pending_requests)
{
    struct later later = {0};
    ck_assert_int_eq(send_async(1, "x", 1e9, MODE, &later), kRLMessagePortSuccess);
    if (in_process)
        RLMessagePortInvalidate(local_server.port);
    else
        kill(child, SIGKILL);
    while (later.calls == 0)
        RLRunLoopRunInMode(MODE, 1, true);
    ck_assert_int_eq(later.result, kRLMessagePortBecameInvalidError);
    ck_assert(!RLMessagePortIsValid(remote));
    for (int index = 0; index < kept_count; index++) /* answering when no sender waits is not misuse */
        RLRelease(kept[index]);
}
END_TEST

START_TEST(a_released_port_lives_until_the_reply)
{
    struct later later = {.ends_run = true};
    ck_assert_int_eq(send_async(0, "abc", 20, MODE, &later), kRLMessagePortSuccess);
    RLRetain(remote);
    RLRelease(remote);
    RLRunLoopRunInMode(MODE, 20, false);
    ck_assert_str_eq(later.text, "abc");
}
END_TEST

/* ---- from another thread ---- */

static void *answer_kept(UNUSED void *info)
{
    RLDataRef reply = text_data("from a thread");
    require(RLMessagePortRequestGetRemainingTime(kept[0]) > 1);
    require(RLMessagePortRequestReply(kept[0], reply));
    RLRelease(reply);
    RLRelease(kept[0]);
    return NULL;
}

static void start_answering(UNUSED RLRunLoopTimerRef timer, void *info)
{
    if (kept_count > 0)
        *(pthread_t *)info = start_thread(answer_kept, NULL);
}

START_TEST(another_thread_may_answer_a_request)
{
    pthread_t thread;
    RLDataRef reply = NULL;
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.02, 0, start_answering, &thread);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    ck_assert_int_eq(ask(remote, 1, "x", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "from a thread"));
    RLRelease(reply);
    join_thread(thread);
    drop_timer(timer);
}
END_TEST

static void *answer_twice(UNUSED void *info)
{
    RLMessagePortRequestReply(kept[0], NULL);
    require(!RLMessagePortRequestReply(kept[0], NULL));
    return NULL;
}

START_TEST(a_second_answer_is_reported_as_misuse)
{
    struct later later = {.ends_run = true};
    ck_assert_int_eq(send_async(1, "x", 20, MODE, &later), kRLMessagePortSuccess);
    while (kept_count == 0)
        RLRunLoopRunInMode(MODE, 1, true);
    answer_twice(NULL);
    assert_misuse("RLMessagePortRequestReply", "request", "already answered");
    RLRelease(kept[0]);
    while (later.calls == 0)
        RLRunLoopRunInMode(MODE, 1, true);
    ck_assert_int_eq(later.result, kRLMessagePortSuccess);
    ck_assert(!later.had_reply);
}
END_TEST

/* ---- timers that the callback creates ---- */

enum { MADE = 8 };

static void make_timers(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, void *info)
{
    RLRunLoopTimerRef *timers = info;
    for (int i = 0; i < MADE; i++)
        timers[i] = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, NULL);
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* New timers may reuse the memory of the request's own timer, which is released before the callback and must not be released
 * again after it. */
START_TEST(timers_created_by_the_reply_callback_stay_valid)
{
    RLRunLoopTimerRef timers[MADE];
    RLDataRef data = text_data("x");
    ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 0, data, 1, 1000, MODE, make_timers, timers),
                     kRLMessagePortSuccess);
    RLRelease(data);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, false), kRLRunLoopRunStopped);
    for (int i = 0; i < MADE; i++) {
        ck_assert(RLRunLoopTimerIsValid(timers[i]));
        drop_timer(timers[i]);
    }
}
END_TEST

/* -- A callback that runs inside the callback of another port ------------------------------------------------------------ */
static struct server outer, inner;
static RLMessagePortRef to_inner;

static void answer_and_release(RLMessagePortRequestRef request, const char *text)
{
    RLDataRef data = text_data(text);
    require(RLMessagePortRequestReply(request, data));
    RLRelease(data);
    RLRelease(request);
}

static RLDataRef answer_both(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(local == inner.port);
    answer_and_release(RLMessagePortCopyRequest(inner.port), "inner");
    answer_and_release(RLMessagePortCopyRequest(outer.port), "outer");
    return NULL;
}

static RLDataRef ask_inner(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    RLDataRef reply = NULL;
    require(ask(to_inner, id, "", 20, MODE, &reply) == kRLMessagePortSuccess && is_text(reply, "inner"));
    RLRelease(reply);
    require(take_diagnostics() == 0 && RLMessagePortCopyRequest(inner.port) == NULL && take_diagnostics() == 1);
    return NULL;
}

START_TEST(a_callback_can_take_over_the_request_of_an_outer_callback)
{
    RLDataRef reply = NULL;
    serve(&outer, RLSTR("com.example.outer"), ask_inner, NULL);
    serve(&inner, RLSTR("com.example.inner"), answer_both, NULL);
    RLMessagePortRef to_outer = RLMessagePortCreateRemote(NULL, RLSTR("com.example.outer"));
    to_inner = RLMessagePortCreateRemote(NULL, RLSTR("com.example.inner"));
    ck_assert_int_eq(ask(to_outer, 1, "", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "outer"));
    RLRelease(reply);
    RLRelease(to_inner);
    RLRelease(to_outer);
    end_server(&inner);
    end_server(&outer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-later");
    TCase *process = add_case(suite, "process", 30), *local = add_case(suite, "local", 30);
    tcase_add_checked_fixture(process, begin_process, end_child);
    tcase_add_checked_fixture(local, begin_local, end_local);
    TCase *both[] = {process, local};
    for (int index = 0; index < 2; index++) {
        tcase_add_test(both[index], callback_receives_the_reply);
        tcase_add_test(both[index], a_pending_request_keeps_its_mode_from_being_empty);
        tcase_add_test(both[index], a_missing_reply_is_a_timeout);
        tcase_add_test(both[index], a_dropped_request_is_reported_to_its_sender);
        tcase_add_test(both[index], requests_may_be_answered_in_any_order);
        tcase_add_test(both[index], the_end_of_the_server_is_reported_to_pending_requests);
        tcase_add_test(both[index], timers_created_by_the_reply_callback_stay_valid);
        tcase_add_test(both[index], a_released_port_lives_until_the_reply);
    }
    tcase_add_test(local, another_thread_may_answer_a_request);
    tcase_add_test(local, a_second_answer_is_reported_as_misuse);
    tcase_add_test(local, a_callback_can_take_over_the_request_of_an_outer_callback);
    return suite;
}
