/* Checks that a server that ends directly after a large reply still sends all of it, if the client reads, and that a client that
 * does not read delays the end by a limited time. */
#include "message-port-hostile.h"

enum { LARGE = 32 << 20, FINISH = 7 };
enum { BY_EXIT, BY_INVALIDATION, BY_RELEASE, WAYS };

static uint8_t bytes[LARGE];
static RLDataRef large;

/* A large reply, after which the loop no longer runs. */
static RLDataRef reply_and_stop(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (id == FINISH)
        RLRunLoopStop(RLRunLoopGetCurrent());
    calls++;
    if (large == NULL)
        large = RLDataCreate(NULL, bytes, sizeof bytes);
    return RLRetain(large);
}

static int way_to_end;

static void serve_until_stopped(int ready)
{
    struct server here;
    serve(&here, NAME, reply_and_stop, NULL);
    say_ready(ready);
    RLRunLoopRun();
    if (way_to_end == BY_EXIT)
        exit(0);
    if (way_to_end == BY_INVALIDATION)
        RLMessagePortInvalidate(here.port);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), here.source, MODE);
    RLRelease(here.source);
    RLRelease(here.port);
}

/* Returns the result of a request to a server that ends directly after its reply. */
static int32_t ask_last(RLDataRef *reply)
{
    int ready;
    pid_t child = start_server_process(serve_until_stopped, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    int32_t result = RLMessagePortSendRequest(remote, FINISH, NULL, 20, 20, MODE, reply);
    end_process(child, 0);
    RLRelease(remote);
    close(ready);
    return result;
}

/* On a busy machine the client may not read for a tenth of a second, hence several rounds. */
START_TEST(the_last_reply_arrives_as_a_whole)
{
    RLDataRef reply = NULL;
    way_to_end = _i;
    for (size_t index = 0; index < sizeof bytes; index++)
        bytes[index] = (uint8_t)(index / 4096 + index);
    use_own_directory();
    for (int round = 0; round < 10 && ask_last(&reply) != kRLMessagePortSuccess; round++) {}
    ck_assert_ptr_nonnull(reply);
    ck_assert_int_eq(RLDataGetLength(reply), LARGE);
    ck_assert(memcmp(RLDataGetBytePtr(reply), bytes, LARGE) == 0);
    RLRelease(reply);
    remove_own_directory();
}
END_TEST

/* ---- clients that hardly read, or not at all ---- */

enum { SILENT = 40 };
static int clients[SILENT];

/* Starts a server, and leaves a reply queued for each of `count` clients. */
static void begin_with_queued_replies(int count, int user)
{
    struct head head = request(0, INLINE);
    begin_with_peer(user, reply_and_stop);
    calls = 0;
    for (int index = 0; index < count; index++) {
        greet(clients[index] = plain_socket());
        throw_packet(clients[index], &head, sizeof head, NULL, 0);
    }
    while (calls < count)
        turn();
}

static void end_with_queued_replies(int count)
{
    for (int index = 0; index < count; index++)
        close(clients[index]);
    finish();
}

static double seconds_to_invalidate(void)
{
    double before = monotonic_seconds();
    RLMessagePortInvalidate(server.port);
    return monotonic_seconds() - before;
}

/* They delay the end for a tenth of a second together, while clients that read slowly may delay it for a second. */
START_TEST(clients_that_do_not_read_delay_the_end_by_a_limited_time)
{
    double best = HUGE_VAL;
    for (int round = 0; round < 3; round++) {
        begin_with_queued_replies(SILENT, _i);
        best = fmin(best, seconds_to_invalidate());
        end_with_queued_replies(SILENT);
    }
    ck_assert_double_lt(best, 0.9);
}
END_TEST

static void *read_slowly(UNUSED void *unused)
{
    static char packet[256 * 1024];
    while (recv(clients[0], packet, sizeof packet, 0) > 0)
        poll(NULL, 0, 40);
    return NULL;
}

/* The client would take the whole reply, in ten seconds or more. */
START_TEST(a_client_that_reads_slowly_delays_the_end_by_a_limited_time)
{
    begin_with_queued_replies(1, _i);
    pthread_t thread = start_thread(read_slowly, NULL);
    double seconds = seconds_to_invalidate();
    join_thread(thread);
    end_with_queued_replies(1);
    ck_assert_double_lt(seconds, 5);
}
END_TEST

/* ---- others meanwhile ---- */

static RLMessagePortRequestRef kept;

static RLDataRef keep(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    kept = RLMessagePortCopyRequest(local);
    return NULL;
}

static RLDataRef keep_or_reply(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    return (id == FINISH ? keep : reply_and_stop)(local, id, data, info);
}

/* They end while another client still reads, which takes until the time is up. */
START_TEST(clients_that_wait_are_told_at_once)
{
    int status = -1;
    begin_with_peer(0, keep_or_reply);
    pid_t waiting_client = fork_child();
    if (waiting_client == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        int32_t result = RLMessagePortSendRequest(remote, FINISH, NULL, 20, 20, MODE, NULL);
        /* Long enough for the server to end, if it has not told this client before the end. */
        poll(NULL, 0, 100);
        _exit(result != kRLMessagePortBecameInvalidError);
    }
    while (kept == NULL)
        turn();
    struct head head = request(0, INLINE);
    greet(clients[0] = plain_socket());
    throw_packet(clients[0], &head, sizeof head, NULL, 0);
    while (calls == 0)
        turn();
    pthread_t reader = start_thread(read_slowly, NULL);
    RLMessagePortInvalidate(server.port);
    ck_assert_int_eq(waitpid(waiting_client, &status, WNOHANG), waiting_client);
    ck_assert_int_eq(status, 0);
    join_thread(reader);
    RLRelease(kept);
    end_with_queued_replies(1);
}
END_TEST

static atomic_int has_answered, packets;

static void *answer_too_late(UNUSED void *unused)
{
    /* More than the socket has room for, so the end is under way. */
    while (packets < 20)
        sched_yield();
    ck_assert(!RLMessagePortIsValid(server.port));
    RLMessagePortRequestReply(kept, NULL);
    has_answered = true;
    return NULL;
}

/* Reads everything, slowly until there was an answer. */
static void *count_replies(void *count)
{
    static char packet[256 * 1024];
    struct head head;
    while (recv(clients[0], packet, sizeof packet, 0) > 0) {
        memcpy(&head, packet, sizeof head);
        packets++;
        *(int *)count += head.kind == REPLY;
        if (!has_answered)
            poll(NULL, 0, 20);
    }
    return NULL;
}

/* The client has sent two requests. The reply to one of them is queued, and the other one is answered while that is sent. */
START_TEST(an_answer_after_the_end_has_no_effect)
{
    int count = 0;
    struct head head = request(0, INLINE);
    begin_with_peer(0, keep_or_reply);
    greet(clients[0] = plain_socket());
    head.message = FINISH;
    throw_packet(clients[0], &head, sizeof head, NULL, 0);
    head.message = 1;
    throw_packet(clients[0], &head, sizeof head, NULL, 0);
    while (kept == NULL || calls == 0)
        turn();
    pthread_t reader = start_thread(count_replies, &count), answerer = start_thread(answer_too_late, NULL);
    RLMessagePortInvalidate(server.port);
    join_thread(answerer);
    join_thread(reader);
    ck_assert_int_eq(count, 1);
    RLRelease(kept);
    end_with_queued_replies(1);
}
END_TEST

/* ---- exit() in a signal handler, which is not allowed, but common ---- */

static void exit_or_be_killed(UNUSED int number)
{
    alarm(10);
    exit(0);
}

static RLDataRef reply_at_once(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, void *info)
{
    return RLRetain(info);
}

static void serve_until_signalled(int ready)
{
    struct server here;
    RLDataRef smaller = RLDataCreate(NULL, bytes, 4 << 20);
    signal(SIGTERM, exit_or_be_killed);
    serve(&here, NAME, reply_at_once, (void *)smaller);
    say_ready(ready);
    while (true)
        RLRunLoopRun();
}

static pid_t start_asking(void)
{
    pid_t client = fork_child();
    if (client == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        for (RLDataRef reply; RLMessagePortSendRequest(remote, 1, NULL, 20, 20, MODE, &reply) == 0;)
            RLRelease(reply);
        _exit(0);
    }
    return client;
}

/* The signal comes while the server is sending large replies, perhaps with a lock held. */
START_TEST(a_signal_handler_may_exit)
{
    use_own_directory();
    for (int round = 0; round < 40; round++) {
        int ready;
        pid_t child = start_server_process(serve_until_signalled, &ready), first = start_asking(),
              second = start_asking();
        poll(NULL, 0, 10 + round % 20);
        kill(child, SIGTERM);
        end_process(child, 0);
        end_process(first, 0);
        end_process(second, 0);
        close(ready);
    }
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-last-reply");
    TCase *tcase = add_case(suite, "last reply", 60);
    tcase_add_loop_test(tcase, the_last_reply_arrives_as_a_whole, 0, WAYS);
    tcase_add_loop_test(tcase, clients_that_do_not_read_delay_the_end_by_a_limited_time, 0, peer_users());
    tcase_add_loop_test(tcase, a_client_that_reads_slowly_delays_the_end_by_a_limited_time, 0, peer_users());
    tcase_add_test(tcase, clients_that_wait_are_told_at_once);
    tcase_add_test(tcase, an_answer_after_the_end_has_no_effect);
    tcase_add_test(tcase, a_signal_handler_may_exit);
    return suite;
}
