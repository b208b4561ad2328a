/* Checks data that can change, or whose bytes belong to the program: what arrives is what was sent, whatever happens to the data
 * afterwards. */
#include "message-port.h"
#include <sched.h>
#include <sys/mman.h>

enum { CHANGES, IS_LENT };

static uint8_t borrowed[30000];

/* Returns data of one of the two kinds that contains `first`. */
static RLDataRef make_data(int kind, const char *first)
{
    RLIndex length = (RLIndex)strlen(first);
    if (kind == CHANGES) {
        RLMutableDataRef data = RLDataCreateMutable(NULL, 0);
        RLDataAppendBytes(data, (const uint8_t *)first, length);
        return data;
    }
    memcpy(borrowed, first, (size_t)length);
    return RLDataCreateWithBytesNoCopy(NULL, borrowed, length, kRLAllocatorNull);
}

/* Does what the owner may do as soon as the sending function has returned. */
static void change(int kind, RLDataRef data)
{
    if (kind == CHANGES) {
        RLDataSetLength((RLMutableDataRef)data, 0);
        RLDataIncreaseLength((RLMutableDataRef)data, 100000);
    } else {
        memset(borrowed, '-', sizeof borrowed);
    }
}

static int received;

static RLDataRef expect_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    ck_assert(is_text(data, "as it was sent"));
    received++;
    return NULL;
}

START_TEST(request_arrives_as_it_was_sent)
{
    struct server server;
    serve(&server, NAME, expect_request, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef data = make_data(_i, "as it was sent");
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 1, 0, NULL, NULL), kRLMessagePortSuccess);
    change(_i, data);
    RLRunLoopRunInMode(MODE, 0, true);
    ck_assert_int_eq(received, 1);
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(data);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

static RLDataRef answer_with_info(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, void *info)
{
    return RLRetain(info);
}

START_TEST(reply_arrives_as_it_was_returned)
{
    RLDataRef data = make_data(_i, "as it was given"), reply = NULL;
    struct server server;
    serve(&server, NAME, answer_with_info, (void *)data);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_int_eq(ask(remote, 1, NULL, 10, MODE, &reply), kRLMessagePortSuccess);
    change(_i, data);
    ck_assert(is_text(reply, "as it was given"));
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(reply);
    RLRelease(data);
    RLRelease(remote);
    end_server(&server);
}
END_TEST

/* ---- a reply that has to wait because its client does not read ---- */

enum { REQUESTS = 20, ENOUGH = 7 }; /* fewer than REQUESTS replies fit into the socket buffer */

static atomic_int *handled;
static RLMutableDataRef changing;
static int kind;

static RLDataRef answer_with_same(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    ++*handled;
    if (kind == CHANGES) {
        RLDataSetLength(changing, sizeof borrowed);
        memset(RLDataGetMutableBytePtr(changing), id, sizeof borrowed);
        return RLRetain(changing);
    }
    memset(borrowed, id, sizeof borrowed);
    return RLDataCreateWithBytesNoCopy(NULL, borrowed, sizeof borrowed, kRLAllocatorNull);
}

static void serve_and_change(int ready)
{
    struct server server;
    changing = RLDataCreateMutable(NULL, 0);
    serve(&server, NAME, answer_with_same, NULL);
    say_ready(ready);
    for (;;) {
        RLRunLoopRunInMode(MODE, 60, true);
        change(kind, changing);
    }
}

static void expect_reply(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    ck_assert_int_eq(result, kRLMessagePortSuccess);
    ck_assert_int_eq(RLDataGetLength(reply), sizeof borrowed);
    for (size_t index = 0; index < sizeof borrowed; index++)
        ck_assert_int_eq(RLDataGetBytePtr(reply)[index], *(const uint8_t *)info);
    received++;
}

START_TEST(reply_in_the_send_queue_does_not_change)
{
    uint8_t ids[REQUESTS];
    int ready;
    kind = _i;
    handled = mmap(NULL, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = start_server_process(serve_and_change, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    for (int index = 0; index < REQUESTS; index++) {
        ids[index] = (uint8_t)(index + 1);
        ck_assert_int_eq(
            RLMessagePortSendRequestAsync(remote, ids[index], NULL, 10, 60, MODE, expect_reply, &ids[index]),
            kRLMessagePortSuccess);
    }
    while (*handled < ENOUGH)
        sched_yield();
    while (received < REQUESTS)
        RLRunLoopRunInMode(MODE, 60, true);
    RLRelease(remote);
    end_process(child, SIGKILL);
    close(ready);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-changing");
    TCase *tcase = add_case(suite, "changing", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_loop_test(tcase, request_arrives_as_it_was_sent, CHANGES, IS_LENT + 1);
    tcase_add_loop_test(tcase, reply_arrives_as_it_was_returned, CHANGES, IS_LENT + 1);
    tcase_add_loop_test(tcase, reply_in_the_send_queue_does_not_change, CHANGES, IS_LENT + 1);
    return suite;
}
