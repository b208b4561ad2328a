/* Checks message ports that several threads use while the port may become invalid at any moment: every request has exactly one
 * result, and nothing is kept. */
#include "message-port-child.h"

enum { CLIENTS = 3 };

static atomic_int handled, answered, refused;
static atomic_bool enough;
static RLDataRef payload; /* sent by all threads; its reference count shows what is still kept */

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&handled, 1);
    return RLRetain(data);
}

static void check_result(int32_t result, RLDataRef reply, RLDataRef sent)
{
    require((result == kRLMessagePortSuccess) == (reply != NULL));
    if (result == kRLMessagePortSuccess) {
        require(reply == sent); /* nothing is copied */
        RLRelease(reply);
        atomic_fetch_add(&answered, 1);
    } else {
        require(result == kRLMessagePortIsInvalid || result == kRLMessagePortBecameInvalidError);
        atomic_fetch_add(&refused, 1);
    }
}

struct later {
    int sent, heard;
};

static void count_result(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    struct later *later = info;
    later->heard++;
    if (reply)
        RLRetain(reply);
    check_result(result, reply, payload);
}

static void *client(UNUSED void *info)
{
    struct later later = {0};
    while (!enough) {
        RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
        if (port == NULL) {
            require(errno == ECONNREFUSED);
            continue;
        }
        for (int count = 0; count < 5; count++) {
            RLDataRef reply = NULL;
            RLRunLoopMode mode = count & 1 ? MODE : kRLMessagePortPrivateReplyMode;
            check_result(RLMessagePortSendRequest(port, 1, payload, 20, 60, mode, &reply), reply, payload);
            RLMessagePortSendRequest(port, 1, payload, 20, 0, NULL, NULL);
            if (RLMessagePortSendRequestAsync(port, 1, payload, 20, 60, MODE, count_result, &later) ==
                kRLMessagePortSuccess)
                later.sent++;
        }
        RLRelease(port);
    }
    while (later.heard < later.sent)
        RLRunLoopRunInMode(MODE, 60, true);
    require(later.heard == later.sent);
    return NULL;
}

static void *end_port(void *info)
{
    RLMessagePortInvalidate(info);
    return NULL;
}

/* This thread invalidates the port between two passes, or another thread does so at any moment. */
START_TEST(every_request_has_exactly_one_result)
{
    pthread_t clients[CLIENTS];
    payload = text_data("payload");
    for (int index = 0; index < CLIENTS; index++)
        clients[index] = start_thread(client, NULL);
    for (int round = 0; round < SCALED(200); round++) {
        struct server server;
        serve(&server, NAME, echo, NULL);
        RLMessagePortSetCapacity(server.port, round % 4 ? 64 : 1);
        int before = handled;
        while (handled < before + round % 20)
            RLRunLoopRunInMode(MODE, 0.05, round & 1);
        if (round % 3 == 0) {
            pthread_t other = start_thread(end_port, server.port);
            while (RLMessagePortIsValid(server.port))
                RLRunLoopRunInMode(MODE, 0.001, false);
            join_thread(other);
        }
        end_server(&server);
    }
    enough = true;
    for (int index = 0; index < CLIENTS; index++)
        join_thread(clients[index]);
    ck_assert_int_gt(answered, 0);
    ck_assert_int_gt(refused, 0);
    ck_assert_int_ge(handled, answered);
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
    ck_assert_int_eq(name_files(), 0);
    RLRelease(payload);
}
END_TEST

/* ---- to a server in another process ---- */

enum { SENDERS = 2 };

static pthread_barrier_t round_begins, round_ends;
static RLStringRef mode;

static void *ask_in_each_round(UNUSED void *info)
{
    for (;;) {
        pthread_barrier_wait(&round_begins);
        if (enough)
            return NULL;
        int32_t result = RLMessagePortSendRequest(remote, 1, NULL, 20, 60, mode, NULL);
        require(result == kRLMessagePortSuccess || result == kRLMessagePortIsInvalid ||
                result == kRLMessagePortBecameInvalidError);
        pthread_barrier_wait(&round_ends);
    }
}

START_TEST(a_port_invalidated_by_another_thread_does_not_keep_the_reply_mode)
{
    pthread_t senders[SENDERS];
    begin_child(echo);
    mode = RLStringCreateWithCString(NULL, "reply mode", kRLStringEncodingASCII);
    pthread_barrier_init(&round_begins, NULL, SENDERS + 1);
    pthread_barrier_init(&round_ends, NULL, SENDERS + 1);
    for (int index = 0; index < SENDERS; index++)
        senders[index] = start_thread(ask_in_each_round, NULL);
    for (int round = 0; round < SCALED(5000); round++) {
        pthread_barrier_wait(&round_begins);
        for (volatile int left = round % 1000 * 4; left > 0; left--)
            ;
        RLMessagePortInvalidate(remote);
        pthread_barrier_wait(&round_ends);
        RLRelease(remote);
        /* A child that does not get a processor for a while has a full accept queue. */
        while ((remote = RLMessagePortCreateRemote(NULL, NAME)) == NULL && errno == EAGAIN)
            sched_yield();
        if (remote == NULL)
            ck_abort_msg("round %d: errno %d", round, errno);
    }
    enough = true;
    pthread_barrier_wait(&round_begins);
    for (int index = 0; index < SENDERS; index++)
        join_thread(senders[index]);
    ck_assert_int_eq(RLGetRetainCount(mode), 1);
    RLRelease(mode);
    end_child();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-threads");
    TCase *tcase = add_case(suite, "threads", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, every_request_has_exactly_one_result);
    tcase_add_test(add_case(suite, "process", 60), a_port_invalidated_by_another_thread_does_not_keep_the_reply_mode);
    return suite;
}
