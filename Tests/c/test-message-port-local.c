/* Checks message ports with both ends in this process, which have the semantics of CFMessagePort. */
#include "message-port.h"

static int32_t last_id;
static int calls;

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    ck_assert(RLMessagePortIsValid(local));
    calls++;
    last_id = id;
    if (info)
        note(info);
    if (id == 0)
        return NULL;
    char text[256];
    snprintf(text, sizeof text, "%d:%.*s", id, (int)RLDataGetLength(data), (const char *)RLDataGetBytePtr(data));
    return text_data(text);
}

START_TEST(request_and_reply_in_one_thread)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    ck_assert(RLMessagePortIsRemote(remote));
    ck_assert(!RLMessagePortIsRemote(server.port));
    ck_assert(RLEqual(RLMessagePortGetName(remote), NAME));
    ck_assert_uint_eq(RLGetTypeID(remote), RLMessagePortGetTypeID());
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 7, "abc", 5, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "7:abc"));
    RLRelease(reply);
    /* If the callback returns NULL, the result is success and the reply NULL. NULL as data arrives as data without bytes. */
    reply = (RLDataRef)&reply;
    ck_assert_int_eq(ask(remote, 0, NULL, 5, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_ptr_null(reply);
    ck_assert_int_eq(ask(remote, 3, NULL, 5, MODE, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(calls, 3);
    RLRelease(remote);
    end_server(&server);
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

static struct server leaving;

static RLDataRef leave(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (calls++ == 0)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), leaving.source, MODE);
    return NULL;
}

START_TEST(requests_wait_when_the_source_leaves_the_mode)
{
    serve(&leaving, NAME, leave, NULL);
    if (_i)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), leaving.source, RLSTR("other"));
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    for (int id = 0; id < 3; id++)
        ck_assert_int_eq(ask(remote, id, "x", 0, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunFinished);
    ck_assert_int_eq(calls, 1);
    RLRelease(remote);
    end_server(&leaving);
}
END_TEST

START_TEST(a_request_without_a_reply_mode_returns_at_once)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef reply = (RLDataRef)&calls;
    ck_assert_int_eq(ask(remote, 1, "x", 0, NULL, &reply), kRLMessagePortSuccess);
    ck_assert_ptr_eq(reply, &calls);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1, true), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(calls, 1);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

static void count_invalidation(UNUSED RLMessagePortRef port, void *info)
{
    note(info ? info : "remote");
    ck_assert(!RLMessagePortIsValid(port));
}

START_TEST(invalidating_the_local_port_invalidates_the_remote_port)
{
    struct server server;
    serve(&server, NAME, answer, "local");
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetInvalidationCallBack(server.port, count_invalidation);
    RLMessagePortSetInvalidationCallBack(remote, count_invalidation);
    ck_assert_ptr_eq((void *)RLMessagePortGetInvalidationCallBack(remote), (void *)count_invalidation);
    RLMessagePortInvalidate(server.port);
    RLMessagePortInvalidate(server.port);
    assert_notes("remote local");
    ck_assert(!RLMessagePortIsValid(remote));
    ck_assert(!RLRunLoopSourceIsValid(server.source));
    ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortIsInvalid);
    ck_assert_int_eq(ask(remote, 1, "x", 1, NULL, NULL), kRLMessagePortIsInvalid);
    RLMessagePortSetInvalidationCallBack(remote, count_invalidation);
    assert_notes("remote");
    RLRelease(remote);
    RLRelease(server.source);
    RLRelease(server.port);
    ck_assert_int_eq(name_files(), 0);
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
}
END_TEST

static RLDataRef end_it(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    RLMessagePortInvalidate(local);
    return text_data("last words");
}

static RLDataRef reply_with_credentials(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                                        UNUSED void *info)
{
    int pid;
    unsigned uid, gid;
    ck_assert(RLMessagePortGetPeerCredentials(local, &pid, &uid, &gid));
    ck_assert(pid == getpid() && uid == geteuid() && gid == getegid());
    ck_assert(RLMessagePortGetPeerCredentials(local, NULL, NULL, NULL));
    RLTimeInterval left = RLMessagePortGetRemainingTime(local);
    return text_data(left > 5 && left <= 20 ? "in time" : isinf(left) ? "without limit" : "wrong");
}

START_TEST(a_callback_can_query_credentials_and_deadline)
{
    struct server server;
    RLDataRef reply = NULL;
    serve(&server, NAME, reply_with_credentials, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(ask(remote, 1, "x", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "in time"));
    RLRelease(reply);
    ck_assert_int_eq(ask(remote, 1, "x", INFINITY, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "without limit"));
    RLRelease(reply);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

START_TEST(a_local_port_may_be_invalidated_in_its_callback)
{
    struct server server;
    struct lifetime life = {0};
    RLMessagePortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    server.port = RLMessagePortCreateLocal(NULL, NAME, end_it, &context, NULL);
    server.source = RLMessagePortCreateRunLoopSource(NULL, server.port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortBecameInvalidError);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(remote);
    RLRelease(server.source);
    RLRelease(server.port);
}
END_TEST

static void note_timer(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }

START_TEST(waiting_for_a_reply_serves_only_the_reply_mode)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLRunLoopTimerRef timer = make_timer(0, 0, note_timer, "T");
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    ck_assert_int_eq(ask(remote, 1, "x", 0.01, kRLMessagePortPrivateReplyMode, NULL), kRLMessagePortReceiveTimeout);
    assert_notes("");
    ck_assert_int_eq(ask(remote, 1, "x", 0.01, MODE, NULL), kRLMessagePortReceiveTimeout);
    assert_notes("T");
    /* A late reply is ignored. */
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    RLRunLoopRunInMode(MODE, 0.1, false);
    ck_assert_int_eq(calls, 2);
    drop_timer(timer);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

START_TEST(waiting_for_a_reply_leaves_the_mode_unchanged)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0, false), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0.1, true), kRLRunLoopRunTimedOut);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0, false), kRLRunLoopRunFinished);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

START_TEST(the_request_queue_has_a_limit)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortSetCapacity(server.port, 2);
    ck_assert_int_eq(RLMessagePortGetCapacity(server.port), 2);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 2, NULL, 0, 0, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 3, NULL, 0, 0, NULL, NULL), kRLMessagePortSendTimeout);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 3, NULL, 0.02, 1, MODE, NULL), kRLMessagePortSendTimeout);
    RLRunLoopRunInMode(MODE, 0.1, false);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(last_id, 2);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

/* A callback sends requests to its own port, nested three deep. */
static RLMessagePortRef inner;

static RLDataRef ask_again(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    char text[32];
    if (id == 0)
        return text_data("0");
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(inner, id - 1, "", 5, MODE, &reply), kRLMessagePortSuccess);
    snprintf(text, sizeof text, "%d%.*s", id, (int)RLDataGetLength(reply), (const char *)RLDataGetBytePtr(reply));
    RLRelease(reply);
    return text_data(text);
}

START_TEST(requests_nest)
{
    struct server server;
    serve(&server, NAME, ask_again, NULL);
    inner = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(inner, 3, "", 5, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "3210"));
    RLRelease(reply);
    RLRelease(inner);
    end_server(&server);
}
END_TEST

static void stop_soon(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

static void ask_in_perform(void *info)
{
    ck_assert_int_eq(ask(info, 1, "x", 0.05, kRLMessagePortPrivateReplyMode, NULL), kRLMessagePortReceiveTimeout);
    note("asked");
}

START_TEST(a_stop_during_a_request_reaches_the_outer_run)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, stop_soon, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLMessagePortPrivateReplyMode);
    RLRunLoopSourceRef source = make_source(0, ask_in_perform, remote);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, false), kRLRunLoopRunStopped);
    assert_notes("asked");
    drop_source(source);
    drop_timer(timer);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

START_TEST(misuse_of_message_ports_is_reported)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(ask(server.port, 1, "x", 0, NULL, NULL), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequest", "remote", "must be a remote port");
    ck_assert_int_eq(ask(remote, 1, "x", 0, kRLRunLoopCommonModes, NULL), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequest", "replyMode", "must be a single mode, not kRLRunLoopCommonModes");
    ck_assert_int_eq(ask(remote, 1, "x", NAN, MODE, NULL), kRLMessagePortTransportError);
    assert_misuse("RLMessagePortSendRequest", "rcvTimeout", "not a number");
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, NULL, NULL, NULL));
    assert_misuse("RLMessagePortCreateLocal", "callout", "expected a function, got NULL");
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NULL));
    assert_misuse("RLMessagePortCreateRemote", "name", "expected RLString, got NULL");
    ck_assert_ptr_null(RLMessagePortCopyRequest(server.port));
    assert_misuse("RLMessagePortCopyRequest", "local", "must be called from this port's callback");
    ck_assert(RLMessagePortGetRemainingTime(server.port) == 0);
    assert_misuse("RLMessagePortGetRemainingTime", "local", "must be called from this port's callback");
    ck_assert(!RLMessagePortGetPeerCredentials(server.port, NULL, NULL, NULL));
    assert_misuse("RLMessagePortGetPeerCredentials", "local", "must be called from this port's callback");
    RLMessagePortSetCapacity(server.port, 0);
    assert_misuse("RLMessagePortSetCapacity", "capacity", "not positive");
    RLMessagePortContext context = {.version = 2};
    RLMessagePortGetContext(server.port, &context);
    assert_misuse("RLMessagePortGetContext", "context", "version must be 0");
    RLRelease(remote);
    end_server(&server);
}
END_TEST

static void release_and_look(RLMessagePortRef port, UNUSED void *info)
{
    note("called");
    RLRelease(port);
    ck_assert(!RLMessagePortIsValid(port));
    ck_assert_ptr_null(RLMessagePortGetName(port));
}

/* The callback, which the library calls immediately, releases the last reference: the library keeps the port until it returns. */
START_TEST(an_invalidation_callback_set_late_may_release_the_port)
{
    struct server server;
    serve(&server, NULL, answer, NULL);
    RLMessagePortInvalidate(server.port);
    RLRelease(server.source);
    RLMessagePortSetInvalidationCallBack(server.port, release_and_look);
    assert_notes("called");
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

static gate in_function, may_return;
static struct server busy;
static RLStringRef busy_name;

static RLDataRef wait_in_function(UNUSED RLMessagePortRef port, UNUSED int32_t id, UNUSED RLDataRef data,
                                  UNUSED void *info)
{
    gate_open(&in_function);
    gate_pass(&may_return);
    return NULL;
}

static void *serve_in_thread(UNUSED void *info)
{
    serve(&busy, busy_name, wait_in_function, NULL);
    gate_open(&in_function);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
    end_server(&busy);
    return NULL;
}

static void release_in_child(void *remote)
{
    RLRelease(remote);
    RLRelease(busy.source);
    RLRelease(busy.port);
    child_assert(RLGetRetainCount(busy_name) == 1); /* so no port has the name */
}

/* In the child of a fork(), the callback of a thread that does not exist there never returns. The port is freed all the same. */
START_TEST(a_port_in_its_callback_during_a_fork_is_freed_in_the_child)
{
    gate_init(&in_function);
    gate_init(&may_return);
    busy_name = RLStringCreateWithCString(NULL, "com.example.busy", kRLStringEncodingUTF8);
    pthread_t thread = start_thread(serve_in_thread, NULL);
    gate_pass(&in_function);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, busy_name);
    ck_assert_int_eq(ask(remote, 1, "x", 1, NULL, NULL), kRLMessagePortSuccess);
    gate_pass(&in_function);
    ck_assert_int_eq(run_in_child(release_in_child, (void *)remote), 0);
    gate_open(&may_return);
    join_thread(thread);
    RLRelease(remote);
    ck_assert_int_eq(RLGetRetainCount(busy_name), 1);
    RLRelease(busy_name);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-local");
    TCase *tcase = add_case(suite, "local", 20);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, request_and_reply_in_one_thread);
    tcase_add_loop_test(tcase, requests_wait_when_the_source_leaves_the_mode, 0, 2);
    tcase_add_test(tcase, a_request_without_a_reply_mode_returns_at_once);
    tcase_add_test(tcase, invalidating_the_local_port_invalidates_the_remote_port);
    tcase_add_test(tcase, a_callback_can_query_credentials_and_deadline);
    tcase_add_test(tcase, a_local_port_may_be_invalidated_in_its_callback);
    tcase_add_test(tcase, waiting_for_a_reply_serves_only_the_reply_mode);
    tcase_add_test(tcase, waiting_for_a_reply_leaves_the_mode_unchanged);
    tcase_add_test(tcase, the_request_queue_has_a_limit);
    tcase_add_test(tcase, requests_nest);
    tcase_add_test(tcase, an_invalidation_callback_set_late_may_release_the_port);
    tcase_add_test(tcase, a_port_in_its_callback_during_a_fork_is_freed_in_the_child);
    tcase_add_test(tcase, a_stop_during_a_request_reaches_the_outer_run);
    tcase_add_test(tcase, misuse_of_message_ports_is_reported);
    return suite;
}
