/* Checks requests and replies between processes. Requests that are not answered: test-message-port-unanswered.c. */
#include "message-port-child.h"

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == 0)
        return NULL;
    if (id == 2) { /* the reply is as large as the request says */
        char text[32] = {0};
        memcpy(text, RLDataGetBytePtr(data), (size_t)RLDataGetLength(data));
        size_t size = (size_t)atol(text);
        uint8_t *bytes = malloc(size);
        for (size_t index = 0; index < size; index++)
            bytes[index] = (uint8_t)(index * 31 >> 4);
        RLDataRef reply = RLDataCreate(NULL, bytes, (RLIndex)size);
        free(bytes);
        return reply;
    }
    if (id == 3) { /* who sent the request, and how long the sender waits */
        char text[128];
        int pid;
        unsigned uid, gid;
        require(RLMessagePortGetPeerCredentials(local, &pid, &uid, &gid));
        RLTimeInterval left = RLMessagePortGetRemainingTime(local);
        snprintf(text, sizeof text, "%d %d %d %d", (int)pid, (int)uid, (int)gid, left > 1 && left <= 20);
        return text_data(text);
    }
    if (id == 6) {
        RLRunLoopStop(RLRunLoopGetCurrent());
        return NULL;
    }
    if (id == 7) { /* the sum of the bytes, to check that all have arrived */
        unsigned long sum = 0;
        RLIndex length = RLDataGetLength(data);
        const uint8_t *bytes = RLDataGetBytePtr(data);
        for (RLIndex index = 0; index < length; index++)
            sum += bytes[index];
        char text[64];
        snprintf(text, sizeof text, "%ld %lu", (long)RLDataGetLength(data), sum);
        return text_data(text);
    }
    if (id == 10) { /* a reply with each byte changed, and half, once or twice as large as the request */
        const uint8_t *asked = RLDataGetBytePtr(data);
        RLIndex size = RLDataGetLength(data), wanted = size * (1 << asked[0] % 3) / 2;
        uint8_t *bytes = malloc((size_t)wanted);
        for (RLIndex index = 0; index < wanted; index++)
            bytes[index] = (uint8_t)~asked[index % size];
        RLDataRef reply = RLDataCreate(NULL, bytes, wanted);
        free(bytes);
        return reply;
    }
    return RLRetain(data);
}

static void begin(void) { begin_child(answer); }

START_TEST(request_and_reply)
{
    RLDataRef reply = NULL;
    for (int round = 0; round < 100; round++) {
        ck_assert_int_eq(ask(remote, 1, "hello", 10, MODE, &reply), kRLMessagePortSuccess);
        ck_assert(is_text(reply, "hello"));
        RLRelease(reply);
    }
    ck_assert_int_eq(ask(remote, 0, NULL, 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_ptr_null(reply);
    ck_assert_int_eq(ask(remote, 1, NULL, 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_int_eq(RLDataGetLength(reply), 0);
    RLRelease(reply);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_int_eq(RLMessagePortGetNameOwner(NAME), child);
    ck_assert_int_eq(errno, EADDRINUSE); /* some callers print errno next to the owner of the name */
    /* A server that ends properly leaves no files behind. */
    ck_assert_int_eq(ask(remote, 6, NULL, 10, MODE, NULL), kRLMessagePortSuccess);
    end_process(child, 0);
    child = 0;
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

START_TEST(credentials_and_deadline_reach_the_server)
{
    char expected[128];
    RLDataRef reply = NULL;
    snprintf(expected, sizeof expected, "%d %d %d 1", (int)getpid(), (int)geteuid(), (int)getegid());
    ck_assert_int_eq(ask(remote, 3, NULL, 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, expected));
    RLRelease(reply);
}
END_TEST

static void check_size(size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    unsigned long sum = 0;
    for (size_t index = 0; index < size; index++)
        sum += bytes[index] = (uint8_t)(index * 7 >> 3);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)size), reply = NULL;
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 7, data, 100, 100, MODE, &reply), kRLMessagePortSuccess);
    char text[64];
    snprintf(text, sizeof text, "%zu %lu", size, sum);
    ck_assert(is_text(reply, text));
    RLRelease(reply);
    RLRelease(data);
    snprintf(text, sizeof text, "%zu", size);
    ck_assert_int_eq(ask(remote, 2, text, 30, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_int_eq(RLDataGetLength(reply), size);
    const uint8_t *received = RLDataGetBytePtr(reply);
    for (size_t index = 0; index < size; index++)
        require(received[index] == (uint8_t)(index * 31 >> 4));
    RLRelease(reply);
    free(bytes);
}

START_TEST(data_of_every_size_arrives_intact)
{
    static const size_t sizes[] = {1, 63, 4096, 16383, 16384, 65535, 65536, 65537, 1 << 20, SCALED(64) << 20};
    check_size(1 << 20);
    check_size(1 << 20); /* the loop has its own descriptors after this */
    int before = open_descriptors();
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        check_size(sizes[index]);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

/* The payload of a large packet stays where it was received, so the next packet must not be received there. */
static void *release_all(void *replies)
{
    for (int index = 0; index < 8; index++)
        RLRelease(((RLDataRef *)replies)[index]);
    return NULL;
}

START_TEST(received_data_does_not_change)
{
    enum { SIZE = 65536, COUNT = 16, STEP = 4000 };
    static uint8_t bytes[SIZE];
    RLDataRef replies[COUNT];
    for (int round = 0; round < 10; round++) {
        for (int index = 0; index < COUNT; index++) {
            RLIndex size = SIZE - index * STEP;
            memset(bytes, round * COUNT + index, (size_t)size);
            RLDataRef data = RLDataCreate(NULL, bytes, size);
            ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 10, 10, MODE, &replies[index]),
                             kRLMessagePortSuccess);
            RLRelease(data);
        }
        for (int index = 0; index < COUNT; index++) {
            ck_assert_int_eq(RLDataGetLength(replies[index]), SIZE - index * STEP);
            for (RLIndex place = 0; place < RLDataGetLength(replies[index]); place++)
                require(RLDataGetBytePtr(replies[index])[place] == (uint8_t)(round * COUNT + index));
        }
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, release_all, replies), 0);
        release_all(replies + 8);
        pthread_join(thread, NULL);
    }
}
END_TEST

/* Large payloads in both directions, compared byte for byte. */
static RLDataRef pattern(size_t size, unsigned seed)
{
    uint8_t *bytes = malloc(size);
    for (size_t index = 0; index < size; index++)
        bytes[index] = (uint8_t)(index * 13 + (index >> 8) * 7 + seed);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)size);
    free(bytes);
    return data;
}

static void check_answer(RLDataRef data, RLDataRef reply)
{
    RLIndex size = RLDataGetLength(data), length = RLDataGetLength(reply);
    const uint8_t *asked = RLDataGetBytePtr(data), *answered = RLDataGetBytePtr(reply);
    require(length == size * (1 << asked[0] % 3) / 2);
    for (RLIndex index = 0; index < length; index++)
        require(answered[index] == (uint8_t)~asked[index % size]);
}

static void ask_for_pattern(size_t size, unsigned seed, RLRunLoopMode mode)
{
    RLDataRef data = pattern(size, seed), reply = NULL;
    require(RLMessagePortSendRequest(remote, 10, data, 100, 100, mode, &reply) == kRLMessagePortSuccess);
    check_answer(data, reply);
    RLRelease(reply);
    RLRelease(data);
}

START_TEST(large_requests_and_replies_arrive_intact)
{
    static const size_t sizes[] = {66000, 70000, 200000, 1 << 20, 5 << 20, 9 << 20, 100000, 80000, 10};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        for (unsigned seed = 0; seed < SCALED(6); seed++)
            ask_for_pattern(sizes[index], seed, MODE);
    /* After many small requests, large ones still work. */
    for (int round = 0; round < 100; round++)
        ask_for_pattern(10, 1, MODE);
    ask_for_pattern(100000, 1, MODE);
}
END_TEST

static void check_reply(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    require(result == kRLMessagePortSuccess);
    check_answer(info, reply);
    RLRelease(info);
    note("r");
}

START_TEST(many_large_requests_may_be_pending_at_once)
{
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned index = 0; index < 8; index++) {
            RLDataRef data = pattern(70000 + 30000 * index, round + index);
            ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 10, data, 100, 100, MODE, check_reply, (void *)data),
                             kRLMessagePortSuccess);
        }
        while (strcmp(notes, "r r r r r r r r") != 0)
            ck_assert_int_ne(RLRunLoopRunInMode(MODE, 100, true), kRLRunLoopRunFinished);
        notes[0] = 0;
    }
}
END_TEST

static void *ask_much_in_thread(void *info)
{
    for (unsigned round = 0; round < SCALED(60); round++)
        ask_for_pattern(30000 + 5000 * (round % 7), (unsigned)(intptr_t)info + round,
                        round & 1 ? MODE : kRLMessagePortPrivateReplyMode);
    return NULL;
}

START_TEST(threads_share_a_port_for_large_data) { on_threads(4, ask_much_in_thread); }
END_TEST

static void use_in_child(UNUSED void *info)
{
    child_assert(!RLMessagePortIsValid(remote));
    child_assert(ask(remote, 1, "x", 1, MODE, NULL) == kRLMessagePortIsInvalid);
    RLMessagePortRef own = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(own != NULL && own != remote);
    RLDataRef reply = NULL;
    child_assert(ask(own, 1, "child", 10, MODE, &reply) == kRLMessagePortSuccess);
    child_assert(is_text(reply, "child"));
    RLRelease(reply);
    RLRelease(own);
}

START_TEST(the_child_of_a_fork_has_to_connect_again)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 1, "x", 10, MODE, NULL), kRLMessagePortSuccess);
    for (int round = 0; round < 10; round++)
        ck_assert_int_eq(run_in_child(use_in_child, NULL), 0);
    ck_assert_int_eq(ask(remote, 1, "parent", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "parent"));
    RLRelease(reply);
}
END_TEST

/* Several threads use one remote port: each receives its own replies. */
static void *ask_in_thread(void *info)
{
    char text[32];
    for (int round = 0; round < SCALED(300); round++) {
        RLDataRef reply = NULL;
        snprintf(text, sizeof text, "%d-%d", (int)(intptr_t)info, round);
        require(ask(remote, 1, text, 20, round & 1 ? MODE : kRLMessagePortPrivateReplyMode, &reply) ==
                kRLMessagePortSuccess);
        require(is_text(reply, text));
        RLRelease(reply);
    }
    return NULL;
}

START_TEST(threads_share_a_remote_port) { on_threads(4, ask_in_thread); }
END_TEST

/* ---- a callback of the port releases the last reference: the library keeps the port until it returns ---- */

#define LEAVING RLSTR("com.example.leaving")

enum { RETAINS_AND_RELEASES, INVALIDATES, KEEPS, ACTIONS };
enum { RECEIVES_REQUEST, RECEIVES_REPLY, TIMES_OUT, FUNCTIONS };
static int action;
static bool by_thread;
static struct server leaving;
static RLMessagePortRef kept;
static int calls;

static void *release_object(void *object)
{
    RLRelease(object);
    return NULL;
}

static void use_without_reference(RLMessagePortRef port)
{
    calls++;
    RLMessagePortInvalidate(port);
    if (by_thread)
        join_thread(start_thread(release_object, port));
    else
        RLRelease(port);
    if (action == INVALIDATES)
        RLMessagePortInvalidate(port);
    else
        kept = (RLMessagePortRef)RLRetain(port);
    if (action == RETAINS_AND_RELEASES)
        RLRelease(port);
    ck_assert(!RLMessagePortIsValid(port));
}

static RLDataRef leave(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    RLRelease(leaving.source);
    use_without_reference(local);
    return NULL;
}

static void see_result(RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    ck_assert_int_eq(result, *(int32_t *)info);
    use_without_reference(port);
}

static void send_to_leaving(UNUSED void *info)
{
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, LEAVING);
    child_assert(ask(port, 1, "x", 0, NULL, NULL) == kRLMessagePortSuccess);
}

START_TEST(the_last_reference_may_be_released_in_a_callback)
{
    int function = _i / ACTIONS % FUNCTIONS;
    int32_t result = function == TIMES_OUT ? kRLMessagePortReceiveTimeout : kRLMessagePortSuccess;
    action = _i % ACTIONS;
    by_thread = _i >= ACTIONS * FUNCTIONS;
    if (function == RECEIVES_REQUEST) {
        serve(&leaving, LEAVING, leave, NULL);
        ck_assert_int_eq(run_in_child(send_to_leaving, NULL), 0);
    } else {
        RLDataRef data = text_data("x");
        if (function == TIMES_OUT)
            kill(child, SIGSTOP);
        ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 1, data, 20, function == TIMES_OUT ? 0 : 20, MODE,
                                                       see_result, &result),
                         kRLMessagePortSuccess);
        RLRelease(data);
    }
    while (calls == 0)
        RLRunLoopRunInMode(MODE, 20, true);
    if (action == KEEPS) {
        ck_assert(!RLMessagePortIsValid(kept));
        ck_assert_int_eq(RLGetRetainCount(kept), 1);
        RLRelease(kept);
    }
    if (function != RECEIVES_REQUEST)
        remote = NULL;
    ck_assert_int_eq(calls, 1);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-process");
    TCase *tcase = add_case(suite, "process", 60);
    tcase_add_checked_fixture(tcase, begin, end_child);
    tcase_add_test(tcase, request_and_reply);
    tcase_add_test(tcase, credentials_and_deadline_reach_the_server);
    tcase_add_test(tcase, data_of_every_size_arrives_intact);
    tcase_add_test(tcase, received_data_does_not_change);
    tcase_add_test(tcase, large_requests_and_replies_arrive_intact);
    tcase_add_test(tcase, many_large_requests_may_be_pending_at_once);
    tcase_add_test(tcase, threads_share_a_port_for_large_data);
    tcase_add_test(tcase, the_child_of_a_fork_has_to_connect_again);
    tcase_add_test(tcase, threads_share_a_remote_port);
    tcase_add_loop_test(tcase, the_last_reference_may_be_released_in_a_callback, 0, 2 * ACTIONS * FUNCTIONS);
    return suite;
}
