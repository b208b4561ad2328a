/* Checks processes that send each other large one-way requests at the same time, from the threads that also receive. Neither
 * waits for the other, since a thread that waits for room continues to receive. Nothing is delivered before the loop runs. */
#include "message-port-frames.h"

#define OTHER RLSTR("com.example.other")
enum { MEGABYTE = 1 << 20, ROUNDS = 8, SMALL_ONES = 20, MORE_THAN_AHEAD = 20 * MEGABYTE };

static bool may_deliver;
static int32_t delivered;

static RLIndex size_of(int32_t id, RLIndex large) { return id % (SMALL_ONES + 1) == 0 ? large + id : 1 + id; }

/* A request's data begins at an offset below 256 in this pattern, given by its id. The pattern is copied and compared as a whole,
 * because under a sanitizer a loop over the bytes takes so long that its thread receives nothing for a second. */
static uint8_t pattern[MORE_THAN_AHEAD + 4096];
static const uint8_t *bytes_of(int32_t id) { return pattern + (uint8_t)(id * 3); }

static void fill_pattern(void)
{
    for (size_t index = 0; index < sizeof pattern; index++)
        pattern[index] = (uint8_t)(index * 7 + (index >> 12));
}

/* Checks that requests arrive in order, each of them complete. */
static RLDataRef check(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    require(may_deliver);
    require(id == delivered++);
    require(RLDataGetLength(data) == size_of(id, *(RLIndex *)info));
    require(memcmp(RLDataGetBytePtr(data), bytes_of(id), (size_t)RLDataGetLength(data)) == 0);
    return NULL;
}

static int32_t send_one(RLMessagePortRef remote, int32_t id, RLIndex size, RLTimeInterval limit)
{
    RLDataRef data = RLDataCreate(NULL, bytes_of(id), size);
    int32_t result = RLMessagePortSendRequest(remote, id, data, limit, 0, NULL, NULL);
    RLRelease(data);
    return result;
}

struct plan {
    RLIndex large;
    int count;
    /* Each server has accepted the other's connection before anything is sent. */
    bool is_acquainted;
};

static const struct plan plans[] = {
    {MEGABYTE, ROUNDS *(SMALL_ONES + 1), false},
    {MEGABYTE, ROUNDS *(SMALL_ONES + 1), true},
    {MORE_THAN_AHEAD, 1, false},
};

static void meet(const int ends[2])
{
    char byte;
    require(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1);
}

/* Serves `own` and sends to `other`. To synchronize with the other process, it reads from ends[0] and writes to ends[1]. */
static void exchange(RLStringRef own, RLStringRef other, const struct plan *plan, const int ends[2])
{
    struct server server;
    RLIndex large = plan->large;
    serve(&server, own, check, &large);
    meet(ends);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, other);
    require(remote != NULL);
    meet(ends);
    if (plan->is_acquainted)
        RLRunLoopRunInMode(MODE, 0, false);
    meet(ends);
    for (int32_t id = 0; id < plan->count; id++)
        require(send_one(remote, id, size_of(id, plan->large), 25) == kRLMessagePortSuccess);
    may_deliver = true;
    while (delivered < plan->count)
        require(RLRunLoopRunInMode(MODE, 25, true) == kRLRunLoopRunHandledSource);
    meet(ends);
    RLRelease(remote);
    end_server(&server);
}

START_TEST(two_processes_may_send_each_other_large_requests_at_once)
{
    int first[2], second[2];
    require(pipe(first) == 0 && pipe(second) == 0);
    pid_t child = fork_child();
    if (child == 0) {
        exchange(OTHER, NAME, &plans[_i], (int[]){first[0], second[1]});
        _exit(0);
    }
    exchange(NAME, OTHER, &plans[_i], (int[]){second[0], first[1]});
    end_process(child, 0);
    close_pipe(first);
    close_pipe(second);
}
END_TEST

/* ---- how much is received ahead ---- */

static int count_of_sender;

/* Sends as many requests as there is room for, reports their number, and waits to be killed. */
static void send_what_goes(void)
{
    int32_t id = 0;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    require(remote != NULL);
    while (send_one(remote, id * (SMALL_ONES + 1), size_of(id * (SMALL_ONES + 1), MEGABYTE), 2) == 0)
        id++;
    require(write(count_of_sender, &id, sizeof id) == sizeof id);
    pause();
}

static RLDataRef check_large(RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    static int32_t expected;
    delivered = id;
    check(port, id, data, info);
    require(id == expected);
    expected += SMALL_ONES + 1;
    return NULL;
}

static void serve_nothing(int ready)
{
    struct server server;
    serve(&server, OTHER, check, NULL);
    say_ready(ready);
    pause();
}

/* While the server's thread waits for another process, a client can send no more than 16 MB and one request. These are still
 * delivered if the client is gone before the loop runs (_i is 1). In the last case the port is gone before, too. */
START_TEST(requests_received_ahead_are_limited)
{
    int ready, counts[2];
    int32_t count;
    RLIndex large = MEGABYTE;
    struct server server;
    require(pipe(counts) == 0);
    count_of_sender = counts[1];
    pid_t silent = start_server_process(serve_nothing, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, OTHER);
    ck_assert_ptr_nonnull(remote);
    serve(&server, NAME, check_large, &large);
    pid_t sender = fork_child();
    if (sender == 0)
        send_what_goes();
    require(fcntl(counts[0], F_SETFL, O_NONBLOCK) == 0);
    do
        ck_assert_int_eq(send_one(remote, 0, 4 * MEGABYTE, 0.1), kRLMessagePortSendTimeout);
    while (read(counts[0], &count, sizeof count) != sizeof count);
    ck_assert_int_ge(count, 4);
    ck_assert_int_le(count, 20);
    may_deliver = true;
    if (_i > 0)
        end_process(sender, SIGKILL);
    if (_i < 2)
        for (int index = 0; index < count; index++)
            ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, true), kRLRunLoopRunHandledSource);
    end_server(&server);
    RLRelease(remote);
    if (_i == 0)
        end_process(sender, SIGKILL);
    end_process(silent, SIGKILL);
    close(ready);
    close_pipe(counts);
}
END_TEST

/* ---- packets that violate the protocol ---- */

static int calls;

static RLDataRef count_call(UNUSED RLMessagePortRef port, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(may_deliver);
    calls++;
    return NULL;
}

/* The client is disconnected when the loop runs: what it has sent before is delivered, and what it has sent afterwards is not. */
START_TEST(a_client_that_violates_the_protocol_is_disconnected_by_the_loop)
{
    int ready;
    char byte;
    struct server server;
    struct head head = {.magic = MAGIC, .kind = REQUEST, .location = INLINE};
    pid_t silent = start_server_process(serve_nothing, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, OTHER);
    ck_assert_ptr_nonnull(remote);
    serve(&server, NAME, count_call, NULL);
    int fd = plain_socket_to("test");
    send_hello(fd);
    for (int number = 0; number < 3; number++) {
        head.kind = number == 1 ? REPLY : REQUEST;
        throw_packet(fd, &head, sizeof head, NULL, 0);
    }
    ck_assert_int_eq(send_one(remote, 0, 4 * MEGABYTE, 0.1), kRLMessagePortSendTimeout);
    ck_assert_int_eq(take_diagnostics(), 0);
    may_deliver = true;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0)
        RLRunLoopRunInMode(MODE, 0.01, true);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(take_diagnostics(), 1);
    close(fd);
    end_server(&server);
    RLRelease(remote);
    end_process(silent, SIGKILL);
    close(ready);
}
END_TEST

/* ---- two loops ---- */

enum { IN_ORDER = SCALED(100000), SIZE_IN_ORDER = 3000 };
static atomic_int handled;

/* A thread must not handle a request that was sent before one that it has already handled. */
static RLDataRef check_order(UNUSED RLMessagePortRef port, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    static _Thread_local int32_t last = -1;
    require(id > last);
    last = id;
    handled++;
    return NULL;
}

static void *serve_too(void *info)
{
    struct server *server = info;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server->source, MODE);
    while (handled < IN_ORDER)
        RLRunLoopRunInMode(MODE, 0.05, false);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server->source, MODE);
    return NULL;
}

/* One of the loops receives ahead, because its thread waits for another process; the other loop continues to serve. */
START_TEST(a_second_loop_serves_while_the_first_receives_ahead)
{
    int ready;
    struct server server;
    pid_t silent = start_server_process(serve_nothing, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, OTHER);
    ck_assert_ptr_nonnull(remote);
    static uint8_t zeroes[4 * MEGABYTE];
    RLDataRef large = RLDataCreateWithBytesNoCopy(NULL, zeroes, sizeof zeroes, kRLAllocatorNull);
    serve(&server, NAME, check_order, NULL);
    pid_t sender = fork_child();
    if (sender == 0) {
        RLMessagePortRef own = RLMessagePortCreateRemote(NULL, NAME);
        for (int32_t id = 0; id < IN_ORDER; id++)
            child_assert(send_one(own, id, SIZE_IN_ORDER, 25) == kRLMessagePortSuccess);
        _exit(0);
    }
    pthread_t second = start_thread(serve_too, &server);
    while (handled < IN_ORDER)
        ck_assert_int_eq(RLMessagePortSendRequest(remote, 0, large, 0.05, 0, NULL, NULL), kRLMessagePortSendTimeout);
    join_thread(second);
    end_process(sender, 0);
    end_server(&server);
    RLRelease(remote);
    RLRelease(large);
    end_process(silent, SIGKILL);
    close(ready);
}
END_TEST

Suite *suite_under_test(void)
{
    fill_pattern();
    Suite *suite = suite_create("message-port-crossing");
    TCase *tcase = add_case(suite, "crossing", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_loop_test(tcase, two_processes_may_send_each_other_large_requests_at_once, 0,
                        sizeof plans / sizeof *plans);
    tcase_add_loop_test(tcase, requests_received_ahead_are_limited, 0, 3);
    tcase_add_test(tcase, a_client_that_violates_the_protocol_is_disconnected_by_the_loop);
    tcase_add_test(tcase, a_second_loop_serves_while_the_first_receives_ahead);
    return suite;
}
