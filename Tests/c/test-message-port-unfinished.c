/* Checks large payloads that never arrive completely: how much memory they take from a server or a client, and that others do not
 * wait because of them. */
#include "message-port-payload.h"
#include <malloc.h>
#include <sys/resource.h>

/* What a peer may use, and something for the rest of the process. */
enum { MOST_MEGABYTES = 64 + 16, LARGE = 60 * MEGABYTE };

static RLMessagePortRequestRef taken_over;
static int large_calls;

static RLDataRef echo_small(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    RLDataRef reply = echo(local, id, data, info);
    large_calls += RLDataGetLength(data) >= LARGE;
    if (RLDataGetLength(data) < MEGABYTE)
        return reply;
    RLRelease(reply);
    return NULL;
}

/* Returns the kind of the answer to the only request. */
static uint8_t kind_of_answer(struct payload *payload)
{
    struct head head = {0};
    for (int tries = 0; recv(payload->fd, &head, sizeof head, 0) < 0 && tries < 1000; tries++)
        turn();
    return head.kind;
}

/* ---- honest clients ---- */

static void send_large_request(RLStringRef name, uid_t user, size_t length)
{
    RLMessagePortRef remote = RLMessagePortCreateRemoteOfUser(NULL, name, user);
    child_assert(remote != NULL);
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, calloc(1, length), (RLIndex)length, kRLAllocatorNull);
    child_assert(RLMessagePortSendRequest(remote, 1, data, 50, 50, MODE, NULL) == kRLMessagePortSuccess);
}

static pid_t start_large_request(size_t length)
{
    pid_t child = fork_child();
    if (child == 0) {
        send_large_request(NAME, geteuid(), length);
        _exit(0);
    }
    return child;
}

/* Sends three requests of 8 MB, one after the other. They must not wait for the payloads of others, which never end. */
static void send_large_requests(void)
{
    for (int count = 0; count < 3; count++) {
        int before = calls;
        pid_t child = start_large_request(8 * MEGABYTE);
        while (calls == before)
            RLRunLoopRunInMode(MODE, 0.05, true);
        end_process(child, 0);
    }
}

/* ---- a thousand clients ---- */

enum { CROWD = 1000 };

static int crowd_size(void)
{
    struct rlimit limit;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_cur < CROWD + 100 && limit.rlim_cur < limit.rlim_max)
        limit.rlim_cur = limit.rlim_max < CROWD + 100 ? limit.rlim_max : CROWD + 100;
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return limit.rlim_cur < CROWD + 100 ? (int)limit.rlim_cur - 100 : CROWD;
}

/* Each client sends 1 MB without the last byte, as fast as the server reads. Reports when all have done so, or when nothing is
 * read anymore. */
static void send_as_crowd(int size, int ready)
{
    static struct payload crowd[CROWD];
    static struct pollfd wanted[CROWD];
    for (int index = 0; index < size; index++) {
        crowd[index] = payload_of(MEGABYTE);
        send_up_to(&crowd[index], MEGABYTE - 1);
    }
    for (bool is_over = false; !is_over;) {
        int count = 0;
        for (int index = 0; index < size; index++) {
            send_up_to(&crowd[index], MEGABYTE - 1);
            if (crowd[index].sent < MEGABYTE - 1)
                wanted[count++] = (struct pollfd){crowd[index].fd, POLLOUT, 0};
        }
        is_over = count == 0 || poll(wanted, (nfds_t)count, 200) == 0;
    }
    say_ready(ready);
    pause();
}

/* An honest client in another process does not wait for any of them, and the server uses no more memory than the limit allows. */
START_TEST(a_thousand_unfinished_payloads_take_limited_memory)
{
    int ends[2], size = crowd_size();
    begin_with_peer(_i, echo_small);
    long before = resident_megabytes();
    make_pipe(ends);
    pid_t crowd = fork_child();
    if (crowd == 0)
        send_as_crowd(size, ends[1]);
    turn_until_ready(ends[0]);
    if (!SANITIZED)
        ck_assert_int_lt(resident_megabytes() - before, MOST_MEGABYTES);
    send_large_requests();
    expect_service();
    end_process(crowd, SIGKILL);
    close_pipe(ends);
    finish();
}
END_TEST

/* ---- one payload that is too large, and more ---- */

/* A client that stops in the middle may continue at any time, and other processes do not wait for it. */
START_TEST(a_stalled_payload_is_kept_and_delays_no_other_process)
{
    begin_with_peer(0, echo_small);
    struct payload stalled = payload_of(2 * LARGE);
    send_all_up_to(&stalled, 2 * LARGE - 1);
    pid_t child = start_large_request(2 * LARGE);
    while (calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(child, 0);
    send_all_up_to(&stalled, 2 * LARGE);
    ck_assert_int_eq(kind_of_answer(&stalled), REPLY);
    ck_assert_int_eq(calls, 2);
    close(stalled.fd);
    finish();
}
END_TEST

/* The first payload fits into the memory of a process, the second one is exempt, the others wait in the order in which they came.
 * Each payload that ends, because it is complete or because its client is gone, lets the next one continue. */
START_TEST(payloads_of_one_process_take_turns)
{
    enum { WAITING = 4 };
    struct payload waiting[WAITING];
    begin_with_peer(0, echo_small);
    long before = resident_megabytes();
    struct payload fits = payload_of(LARGE), exempt = payload_of(LARGE);
    send_all_up_to(&fits, LARGE - 1);
    send_all_up_to(&exempt, LARGE - 1);
    for (int index = 0; index < WAITING; index++) {
        waiting[index] = payload_of(LARGE);
        ck_assert(!send_until_it_waits(&waiting[index]));
    }
    if (!SANITIZED)
        ck_assert_int_lt(resident_megabytes() - before, MOST_MEGABYTES + LARGE / MEGABYTE);
    ck_assert_int_eq(calls, 0);
    if (_i == 0)
        send_all_up_to(&exempt, LARGE);
    else
        close(exempt.fd);
    for (int index = 0; index < WAITING; index++) {
        ck_assert(send_until_it_waits(&waiting[index]));
        ck_assert_int_eq(kind_of_answer(&waiting[index]), REPLY);
    }
    ck_assert_int_eq(calls, WAITING + (_i == 0));
    finish();
}
END_TEST

/* Clients of another user, who together send more than there is room for, take turns. Those of the own user need not. */
START_TEST(clients_that_together_exceed_the_memory_are_all_served)
{
    enum { CLIENTS = 4 };
    pid_t children[CLIENTS];
    begin_with_peer(_i, echo_small);
    long before = resident_megabytes();
    for (int index = 0; index < CLIENTS; index++)
        if ((children[index] = fork_child()) == 0) {
            uid_t user = geteuid();
            become_peer();
            send_large_request(NAME, user, SCALED(100) * MEGABYTE);
            _exit(0);
        }
    while (calls < CLIENTS) {
        RLRunLoopRunInMode(MODE, 0.05, true);
        if (!SANITIZED && _i == 1)
            ck_assert_int_lt(resident_megabytes() - before, MOST_MEGABYTES + 100);
    }
    for (int index = 0; index < CLIENTS; index++)
        end_process(children[index], 0);
    finish();
}
END_TEST

/* ---- a client that waits, and does what it can to make others wait ---- */

enum { OF_A_CALLBACK = 100 * 1024, TAKEN_OVER = 7 };

enum waiter {
    SENDS_NO_PIECE,
    READS_NO_REPLY,
    HAS_TOO_MANY_UNANSWERED,
    HAS_A_LONG_CALLBACK,
    HAS_MANY_CONNECTIONS,
    WAITERS
};

static void make_wait(enum waiter waiter)
{
    struct payload payload = payload_of(waiter == HAS_A_LONG_CALLBACK ? OF_A_CALLBACK : MEGABYTE);
    if (waiter == READS_NO_REPLY || waiter == HAS_TOO_MANY_UNANSWERED) {
        struct head head = request(TAKEN_OVER, INLINE);
        memcpy(zeros, &head, sizeof head);
        require(send(payload.fd, zeros, sizeof head + TAKEN_OVER, 0) > 0);
    }
    send_up_to(&payload, waiter == SENDS_NO_PIECE ? 0 : OF_A_CALLBACK);
}

/* The payloads use up the memory of one process. The last one is exempt. */
static void take_all_and_wait(enum waiter waiter, int ready)
{
    static const size_t kilobytes[] = {32 << 10, 16 << 10, 8 << 10, 4 << 10, 2 << 10, 1 << 10, 1000, 1 << 10};
    for (size_t index = 0; index < sizeof kilobytes / sizeof *kilobytes; index++) {
        struct payload payload = payload_of(kilobytes[index] * 1024);
        push_up_to(&payload, payload.length / 2 + PIECE_SIZE);
    }
    for (int count = waiter == HAS_MANY_CONNECTIONS ? 30 : 1; count > 0; count--)
        make_wait(waiter);
    say_ready(ready);
    pause();
}

static RLDataRef answer_late(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    if (RLDataGetLength(data) == TAKEN_OVER)
        taken_over = RLMessagePortCopyRequest(local);
    if (taken_over != NULL && RLDataGetLength(data) == TAKEN_OVER)
        return NULL;
    while (RLDataGetLength(data) == OF_A_CALLBACK && large_calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    return echo_small(local, id, data, info);
}

START_TEST(a_client_that_hoards_memory_does_not_block_others)
{
    int ends[2];
    use_own_directory();
    serve_peers(answer_late);
    make_pipe(ends);
    pid_t hostile = fork_child();
    if (hostile == 0)
        take_all_and_wait(_i, ends[1]);
    turn_until_ready(ends[0]);
    while (taken_over == NULL && (_i == READS_NO_REPLY || _i == HAS_TOO_MANY_UNANSWERED))
        turn();
    if (_i == READS_NO_REPLY) {
        RLDataRef reply = RLDataCreateWithBytesNoCopy(NULL, calloc(1, LARGE), LARGE, NULL);
        ck_assert(RLMessagePortRequestReply(taken_over, reply));
        RLRelease(reply);
    } else if (_i == HAS_TOO_MANY_UNANSWERED) {
        RLMessagePortSetCapacity(server.port, 1);
    }
    pid_t honest = start_large_request(2 * LARGE);
    while (large_calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(honest, 0);
    end_process(hostile, SIGKILL);
    if (taken_over != NULL)
        RLRelease(taken_over);
    close_pipe(ends);
    finish();
}
END_TEST

/* ---- two ports of one process ---- */

#define SECOND RLSTR("com.example.second")

/* Sends 100 MB to the first port, of which the server has received 70 MB, or nearly so, when it stops reading. As much to the second
 * port is received completely. */
static void send_to_both(int ready)
{
    struct payload payload = payload_of(100 * MEGABYTE);
    push_up_to(&payload, 70 * MEGABYTE);
    say_ready(ready);
    send_large_request(SECOND, geteuid(), 100 * MEGABYTE);
    push_up_to(&payload, payload.length);
    pause();
}

static atomic_int second_calls;

static RLDataRef count_second(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                              UNUSED void *info)
{
    atomic_fetch_add(&second_calls, 1);
    return NULL;
}

static void *serve_second(void *ready)
{
    struct server second;
    serve(&second, SECOND, count_second, NULL);
    sem_post(ready);
    while (second_calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_server(&second);
    return NULL;
}

/* The first port is not in its loop (_i is 0), or the loop does not run. */
START_TEST(a_payload_for_an_unserved_port_does_not_block_other_ports)
{
    int ends[2];
    sem_t ready;
    second_calls = 0;
    begin_with_peer(0, echo_small);
    sem_init(&ready, 0, 0);
    pthread_t other = start_thread(serve_second, &ready);
    sem_wait(&ready);
    make_pipe(ends);
    pid_t child = fork_child();
    if (child == 0)
        send_to_both(ends[1]);
    turn_until_ready(ends[0]);
    if (_i == 0)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    while (_i == 0 && second_calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    join_thread(other);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    while (large_calls == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(child, SIGKILL);
    close_pipe(ends);
    finish();
}
END_TEST

/* ---- a server that is a plain socket ---- */

enum { SENT = 60 * MEGABYTE, MOST_BYTES = 0x60000000 };

/* Answers the first request of each client with part of the largest possible reply. */
static void answer_in_part(int ready)
{
    char packet[256];
    struct head head;
    int listener = listen_as_victim();
    say_ready(ready);
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        for (head.kind = HELLO; head.kind != REQUEST; memcpy(&head, packet, sizeof head))
            require(recv(fd, packet, sizeof packet, 0) >= (ssize_t)sizeof head);
        struct payload reply = {.fd = fd, .kind = REPLY, .id = head.id, .length = MOST_BYTES};
        send_up_to(&reply, SENT);
    }
}

static void note_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    *(int32_t *)info = result;
}

/* Returns the result of an asynchronous request. */
static int32_t ask_async(RLMessagePortRef remote, double limit)
{
    int32_t result = kRLMessagePortSuccess;
    if (RLMessagePortSendRequestAsync(remote, 1, NULL, 1, limit, MODE, note_result, &result) == kRLMessagePortSuccess)
        while (result == kRLMessagePortSuccess)
            RLRunLoopRunInMode(MODE, limit, true);
    return result;
}

/* Part of a reply takes memory only for what has arrived, and none once its request has timed out. */
START_TEST(a_stalled_reply_takes_limited_memory)
{
    int ready;
    bool has_come = false;
    /* Large blocks are always mappings of their own. Otherwise malloc would keep them, from the second one on. */
    mallopt(M_MMAP_THRESHOLD, MEGABYTE);
    begin_with_peer(_i / 2, echo_small);
    pid_t hostile = start_server_process(answer_in_part, &ready);
    long before = resident_megabytes(), most = most_resident_megabytes();
    for (double limit = 0.3; !has_come; limit *= 2) {
        RLMessagePortRef remote = remote_of_victim();
        int32_t result = _i % 2 ? ask_async(remote, limit) : ask(remote, 1, "x", limit, MODE, NULL);
        ck_assert_int_eq(result, kRLMessagePortReceiveTimeout);
        if (!SANITIZED)
            ck_assert_int_lt(resident_megabytes() - before, 10);
        has_come = (most_resident_megabytes() - before) * MEGABYTE >= SENT;
        RLMessagePortInvalidate(remote);
        RLRelease(remote);
    }
    if (!SANITIZED)
        ck_assert_int_lt(most_resident_megabytes() - most, SENT / MEGABYTE + 10);
    end_process(hostile, SIGKILL);
    close(ready);
    finish();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-unfinished");
    TCase *tcase = add_case(suite, "unfinished", 60);
    tcase_add_loop_test(tcase, a_thousand_unfinished_payloads_take_limited_memory, 0, peer_users());
    tcase_add_test(tcase, a_stalled_payload_is_kept_and_delays_no_other_process);
    tcase_add_loop_test(tcase, payloads_of_one_process_take_turns, 0, 2);
    tcase_add_loop_test(tcase, clients_that_together_exceed_the_memory_are_all_served, 0, peer_users());
    tcase_add_loop_test(tcase, a_client_that_hoards_memory_does_not_block_others, 0, WAITERS);
    tcase_add_loop_test(tcase, a_payload_for_an_unserved_port_does_not_block_other_ports, 0, 2);
    tcase_add_loop_test(tcase, a_stalled_reply_takes_limited_memory, 0, 2 * peer_users());
    return suite;
}
