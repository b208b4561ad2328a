/* Checks large requests and replies, which travel in chunks: in order with small ones, from several threads, and to a server that
 * reads slowly, does not read at all, or dies. */
#include "message-port-hostile.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

enum { LARGE = 100000, HUGE_SIZE = 3 << 20 };

static RLMessagePortRef remote;

/* A request's payload begins at an offset below 256 in this pattern, given by its id. */
static uint8_t pattern[4 * HUGE_SIZE + 256];

static void fill_pattern(void)
{
    for (size_t index = 0; index < sizeof pattern; index++)
        pattern[index] = (uint8_t)index;
}

static RLDataRef data_of(int32_t id, RLIndex size) { return RLDataCreate(NULL, pattern + (uint8_t)id, size); }

static void check_data(RLDataRef data, int32_t id)
{
    require(memcmp(RLDataGetBytePtr(data), pattern + (uint8_t)id, (size_t)RLDataGetLength(data)) == 0);
}

static int32_t send_data(int32_t id, RLIndex size, RLTimeInterval limit)
{
    RLDataRef data = data_of(id, size);
    int32_t result = RLMessagePortSendRequest(remote, id, data, limit, 0, NULL, NULL);
    RLRelease(data);
    return result;
}

/* ---- a real server, in a child ---- */

static int32_t next_id;

static RLDataRef check_and_echo(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    require(id == next_id++);
    check_data(data, id);
    return RLRetain(data);
}

static RLDataRef echo_only(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    check_data(data, id);
    return RLRetain(data);
}

/* Returns how many packet sockets have the send buffer `wanted`. Gives all of them the smallest one that is possible, if `shrinks`. */
static int sockets_with_buffer(long wanted, bool shrinks)
{
    int count = 0, type = 0, size = 0;
    for (int fd = 0; fd < 64; fd++) {
        socklen_t length = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET)
            continue;
        require(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0);
        require(!shrinks || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int)) == 0);
        count += size == wanted;
    }
    return count;
}

static bool shrinks_buffers;

static RLDataRef echo_any(UNUSED RLMessagePortRef port, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    sockets_with_buffer(0, shrinks_buffers);
    return RLRetain(data);
}

static RLMessagePortCallBack answers;

static void real_server(int ready)
{
    static struct server real;
    serve(&real, NAME, answers, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

static pid_t begin_with(RLMessagePortCallBack callout)
{
    int ready;
    answers = callout;
    pid_t child = start_server_process(real_server, &ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    return child;
}

static void ask_with(int32_t id, RLIndex size)
{
    RLDataRef data = data_of(id, size), reply = NULL;
    int32_t result = RLMessagePortSendRequest(remote, id, data, 50, 50, MODE, &reply);
    require(result == kRLMessagePortSuccess);
    require(RLDataGetLength(reply) == size);
    check_data(reply, id);
    RLRelease(reply);
    RLRelease(data);
}

START_TEST(large_and_small_requests_keep_their_order)
{
    static const RLIndex sizes[] = {
        64, INLINE_LIMIT, INLINE_LIMIT + 1, PIECE_LIMIT, PIECE_LIMIT + 1, LARGE, 2 * PIECE_LIMIT, HUGE_SIZE, 1, 64, 64,
        64};
    unsigned seed = 5;
    pid_t child = begin_with(check_and_echo);
    for (int32_t id = 0; id < SCALED(600); id++) {
        RLIndex size = sizes[rand_r(&seed) % (sizeof sizes / sizeof *sizes)];
        if (rand_r(&seed) % 3 == 0)
            ask_with(id, size);
        else
            ck_assert_int_eq(send_data(id, size, 50), kRLMessagePortSuccess);
    }
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static void count_reply(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    require(result == kRLMessagePortSuccess && RLDataGetLength(reply) == HUGE_SIZE);
    check_data(reply, ++*(int *)info);
}

/* Both ends send at the same time: a client that waits for room reads replies meanwhile. */
START_TEST(large_requests_and_replies_may_cross)
{
    enum { MANY = 20 };
    int replies = 0;
    pid_t child = begin_with(echo_only);
    for (int32_t id = 1; id <= MANY; id++) {
        RLDataRef data = data_of(id, HUGE_SIZE);
        ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, id, data, 50, 50, MODE, count_reply, &replies),
                         kRLMessagePortSuccess);
        RLRelease(data);
    }
    while (replies < MANY)
        RLRunLoopRunInMode(MODE, 50, true);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

/* The send buffer becomes 1 MiB, or what the system allows; the kernel doubles the number. */
START_TEST(the_first_large_request_enlarges_the_socket_buffer)
{
    long most = 0;
    FILE *file = fopen("/proc/sys/net/core/wmem_max", "r");
    ck_assert(file != NULL && fscanf(file, "%ld", &most) == 1);
    fclose(file);
    long wanted = 2 * (most < 1 << 20 ? most : 1 << 20);
    pid_t child = begin_with(echo_any);
    ck_assert_int_eq(send_data(1, INLINE_LIMIT, 50), kRLMessagePortSuccess);
    int before = sockets_with_buffer(wanted, false);
    ck_assert_int_eq(send_data(2, INLINE_LIMIT + 1, 50), kRLMessagePortSuccess);
    ck_assert_int_eq(sockets_with_buffer(wanted, false), before + 1);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

/* As on a system with a small net.core.wmem_default. */
START_TEST(payloads_may_be_larger_than_the_socket_buffer)
{
    static const RLIndex sizes[] = {64, 16 * 1024, INLINE_LIMIT, INLINE_LIMIT + 1, HUGE_SIZE};
    shrinks_buffers = true;
    pid_t child = begin_with(echo_any);
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        sockets_with_buffer(0, true);
        ask_with((int32_t)index, sizes[index]);
    }
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static long page_faults(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* Payload after payload uses the same memory, since new pages cost more than copying their bytes. */
START_TEST(large_payloads_reuse_memory)
{
    enum { MANY = 40, SIZE = 1 << 20, PAGES = SIZE / 4096 };
    static uint8_t bytes[SIZE];
    pid_t child = begin_with(echo_any);
    long before = 0;
    for (int count = -2; count < MANY; count++) {
        RLDataRef data = RLDataCreate(NULL, bytes, SIZE), replies[2];
        if (count == 0)
            before = page_faults();
        for (int index = 0; index < 2; index++)
            ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 50, 50, MODE, &replies[index]),
                             kRLMessagePortSuccess);
        RLRelease(replies[0]);
        RLRelease(replies[1]);
        RLRelease(data);
    }
    if (!SANITIZED)
        ck_assert_int_lt(page_faults() - before, MANY * PAGES / 4);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static void *send_some(void *info)
{
    int32_t id = (int32_t)(intptr_t)info;
    for (int count = 0; count < SCALED(40); count++)
        if (count % 4 == 3)
            ask_with(id, count % 8 == 3 ? 64 : LARGE * (id + 1));
        else
            require(send_data(id, count % 4 == 2 ? 64 : LARGE * (id + 1), 100) == kRLMessagePortSuccess);
    return NULL;
}

START_TEST(several_threads_send_large_requests_over_one_port)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    pid_t child = begin_with(echo_only);
    for (int index = 0; index < THREADS; index++)
        threads[index] = start_thread(send_some, (void *)(intptr_t)index);
    for (int index = 0; index < THREADS; index++)
        join_thread(threads[index]);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

/* Even without a time limit to wait, a large request is sent completely if the server reads. */
START_TEST(a_large_request_with_a_send_timeout_of_0_is_sent_completely)
{
    int sent = 0;
    pid_t child = begin_with(echo_only);
    for (int32_t id = 0; sent < 20; id++) {
        int32_t result = send_data(id, LARGE * 5, 0);
        ck_assert(result == kRLMessagePortSuccess || result == kRLMessagePortSendTimeout);
        sent += result == kRLMessagePortSuccess;
    }
    ask_with(1, LARGE);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

/* What was begun before the server stopped is abandoned, after at least 50 ms, and the server never learns of it. */
START_TEST(a_large_request_to_a_server_that_does_not_read_is_abandoned)
{
    pid_t child = begin_with(check_and_echo);
    ask_with(0, 64);
    kill(child, SIGSTOP);
    for (int round = 0; round < 3; round++) {
        double before = monotonic_seconds();
        ck_assert_int_eq(send_data(1000, HUGE_SIZE, round * 0.1), kRLMessagePortSendTimeout);
        ck_assert_double_ge(monotonic_seconds() - before, round ? round * 0.1 : 0.05);
    }
    ck_assert_int_eq(send_data(1000, HUGE_SIZE, 0), kRLMessagePortSendTimeout);
    kill(child, SIGCONT);
    ask_with(1, 64);
    ask_with(2, HUGE_SIZE);
    ck_assert_int_eq(send_data(3, HUGE_SIZE, 50), kRLMessagePortSuccess);
    ask_with(4, 64);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

/* A request that wants a reply is partly sent when its time is over. The server receives it nevertheless when it reads again, and
 * until then there is no room for other requests. */
START_TEST(a_partly_sent_request_is_completed_after_its_timeout)
{
    RLDataRef data = data_of(1, HUGE_SIZE);
    pid_t child = begin_with(check_and_echo);
    ask_with(0, 64);
    kill(child, SIGSTOP);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 0, 0.05, MODE, NULL), kRLMessagePortReceiveTimeout);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 2, NULL, 0.01, 50, MODE, NULL), kRLMessagePortSendTimeout);
    kill(child, SIGCONT);
    ask_with(2, 64);
    RLRelease(data);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static void end_later(UNUSED RLRunLoopTimerRef timer, void *info) { kill(*(pid_t *)info, SIGKILL); }

static void *kill_later(void *info)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.05, 0, end_later, info);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRunLoopRunInMode(MODE, 10, false);
    drop_timer(timer);
    return NULL;
}

/* The server dies when it has received part of a request. */
START_TEST(a_server_killed_while_receiving_a_large_request_ends_the_send)
{
    pid_t child = begin_with(echo_only);
    ask_with(0, 64);
    kill(child, SIGSTOP);
    RLDataRef data = data_of(1, _i == 1 ? 64 : HUGE_SIZE);
    pthread_t thread = start_thread(kill_later, &child);
    int32_t result = RLMessagePortSendRequest(remote, 1, data, 50, 50, _i ? MODE : NULL, NULL);
    RLRelease(data);
    ck_assert_int_eq(result, _i ? kRLMessagePortBecameInvalidError : kRLMessagePortIsInvalid);
    ck_assert(!RLMessagePortIsValid(remote));
    join_thread(thread);
    RLRelease(remote);
    waitpid(child, NULL, 0);
}
END_TEST

enum { ASKED = 30, ANSWERED = 20 };
static int client_has_asked[2];

static RLDataRef answer_and_die(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == ANSWERED)
        kill(getpid(), SIGKILL);
    return RLRetain(data);
}

static void answer_later(int ready)
{
    char byte;
    struct server here;
    serve(&here, VICTIM, answer_and_die, NULL);
    say_ready(ready);
    require(read(client_has_asked[0], &byte, 1) == 1);
    RLRunLoopRun();
}

static void ignore(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info) {}

/* The server dies with part of a one-way request received, while replies to other requests are unread, and have to be read first.
 * Whether some are unread at that moment is up to the kernel, hence several rounds. */
START_TEST(a_server_killed_after_sending_replies_ends_the_send)
{
    RLDataRef small = data_of(1, 1), large = data_of(1, 4 * HUGE_SIZE);
    for (int round = 0; round < 5; round++) {
        int ready;
        require(pipe(client_has_asked) == 0);
        pid_t child = start_server_process(answer_later, &ready);
        remote = remote_of_victim();
        for (int32_t id = 0; id < ASKED; id++)
            ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, id, small, 20, 20, MODE, ignore, NULL),
                             kRLMessagePortSuccess);
        require(write(client_has_asked[1], "x", 1) == 1);
        ck_assert_int_eq(RLMessagePortSendRequest(remote, ASKED, large, 20, 0, NULL, NULL), kRLMessagePortIsInvalid);
        RLMessagePortInvalidate(remote);
        RLRelease(remote);
        require(waitpid(child, NULL, 0) == child);
        close(ready);
        close_pipe(client_has_asked);
    }
    RLRelease(small);
    RLRelease(large);
}
END_TEST

/* ---- a server that is a plain socket ---- */

static int flood_kind;

static void flooding_server(int ready)
{
    static char packet[sizeof(struct head) + PIECE_LIMIT];
    enum { PIECES_OF_EACH = 1000 };
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    struct head reply = {.magic = MAGIC, .kind = REPLY, .location = flood_kind, .id = 77, .deadline = ~0ull};
    struct head piece = {.magic = MAGIC, .kind = PIECE, .location = INLINE, .length = PIECE_LIMIT, .deadline = ~0ull};
    bool has_pieces = flood_kind == PIECES;
    reply.length = has_pieces ? PIECES_OF_EACH * PIECE_LIMIT : 1000;
    for (int count = 0;; count++) {
        bool is_reply = !has_pieces || count % (PIECES_OF_EACH + 1) == 0;
        size_t size = sizeof reply + (!has_pieces ? 1000 : is_reply ? 0 : PIECE_LIMIT);
        memcpy(packet, is_reply ? &reply : &piece, sizeof reply);
        if (send(fd, packet, size, MSG_NOSIGNAL) <= 0)
            break;
    }
    unlink(victim_address.sun_path);
}

/* A hostile server sends an endless stream of replies that nothing waits for: the client's time limit must hold. */
START_TEST(endless_unexpected_replies_do_not_delay_the_timeout)
{
    int ready;
    double best = HUGE_VAL;
    peer_user = _i / 2 ? OTHER_USER : 0;
    serve_peers(echo);
    double limit = honest_time_limit();
    flood_kind = _i % 2 ? PIECES : INLINE;
    pid_t child = start_server_process(flooding_server, &ready);
    remote = remote_of_victim();
    for (int round = 0; round < 3; round++) {
        double before = monotonic_seconds();
        ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, NULL, 1, 0.1, MODE, NULL), kRLMessagePortReceiveTimeout);
        best = fmin(best, monotonic_seconds() - before);
    }
    ck_assert_double_lt(best, 0.1 + limit);
    RLRelease(remote);
    end_process(child, 0);
    end_server(&server);
}
END_TEST

Suite *suite_under_test(void)
{
    fill_pattern();
    Suite *suite = suite_create("message-port-large");
    TCase *tcase = add_case(suite, "large", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, large_and_small_requests_keep_their_order);
    tcase_add_test(tcase, large_requests_and_replies_may_cross);
    tcase_add_test(tcase, the_first_large_request_enlarges_the_socket_buffer);
    tcase_add_test(tcase, payloads_may_be_larger_than_the_socket_buffer);
    tcase_add_test(tcase, large_payloads_reuse_memory);
    tcase_add_test(tcase, several_threads_send_large_requests_over_one_port);
    tcase_add_test(tcase, a_large_request_with_a_send_timeout_of_0_is_sent_completely);
    tcase_add_test(tcase, a_large_request_to_a_server_that_does_not_read_is_abandoned);
    tcase_add_test(tcase, a_partly_sent_request_is_completed_after_its_timeout);
    tcase_add_loop_test(tcase, a_server_killed_while_receiving_a_large_request_ends_the_send, 0, 3);
    tcase_add_test(tcase, a_server_killed_after_sending_replies_ends_the_send);
    tcase_add_loop_test(tcase, endless_unexpected_replies_do_not_delay_the_timeout, 0, 2 * peer_users());
    return suite;
}
