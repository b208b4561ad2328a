/* Checks that a server that ends directly after a large reply still sends all of it, if the client reads, and that a client that
 * does not read delays the end by a limited time. */
#include "message-port-hostile.h"

enum { LARGE = 32 << 20, FINISH = 7 };
enum { BY_EXIT, BY_INVALIDATION, BY_RELEASE, WAYS };

static uint8_t bytes[LARGE];

/* A large reply, after which the loop no longer runs. */
static RLDataRef reply_and_stop(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (id == FINISH)
        RLRunLoopStop(RLRunLoopGetCurrent());
    calls++;
    return RLDataCreate(NULL, bytes, sizeof bytes);
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

/* Each of them delays the end for a tenth of a second, if nothing limits them together. */
START_TEST(clients_that_do_not_read_delay_the_end_by_a_limited_time)
{
    double best = HUGE_VAL;
    for (int round = 0; round < 3; round++) {
        begin_with_queued_replies(SILENT, _i);
        best = fmin(best, seconds_to_invalidate());
        end_with_queued_replies(SILENT);
    }
    ck_assert_double_lt(best, 2);
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

/* The child of a fork(), in which the port ends, leaves the replies to its parent. */
START_TEST(clients_that_do_not_read_do_not_delay_a_child)
{
    double best = HUGE_VAL;
    begin_with_queued_replies(SILENT, 0);
    for (int round = 0; round < 3; round++) {
        double before = monotonic_seconds();
        pid_t child = fork_child();
        if (child == 0)
            exit(0);
        end_process(child, 0);
        best = fmin(best, monotonic_seconds() - before);
    }
    end_with_queued_replies(SILENT);
    ck_assert_double_lt(best, 0.5);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-last-reply");
    TCase *tcase = add_case(suite, "last reply", 60);
    tcase_add_loop_test(tcase, the_last_reply_arrives_as_a_whole, 0, WAYS);
    tcase_add_loop_test(tcase, clients_that_do_not_read_delay_the_end_by_a_limited_time, 0, peer_users());
    tcase_add_loop_test(tcase, a_client_that_reads_slowly_delays_the_end_by_a_limited_time, 0, peer_users());
    tcase_add_test(tcase, clients_that_do_not_read_do_not_delay_a_child);
    return suite;
}
