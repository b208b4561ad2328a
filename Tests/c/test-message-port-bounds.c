/* Checks the limits of what clients can cost a server: the numbers in `PortLimits`, and the capacity of the port. */
#include "message-port-hostile.h"
#include <poll.h>
#include <sys/resource.h>

enum { TO_KEEP = 5 };

static RLMessagePortRequestRef kept[64];
static int kept_count, gone_count;
static atomic_int next_number;

/* A request with data carries its number: none may be lost, and they must arrive in order. */
static RLDataRef keep(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    int32_t number;
    if (id != TO_KEEP)
        return echo(local, id, data, info);
    if (RLDataGetLength(data) > 0) {
        memcpy(&number, RLDataGetBytePtr(data), sizeof number);
        require(number == next_number++);
    }
    kept[kept_count++] = RLMessagePortCopyRequest(local);
    return NULL;
}

static void serve_again(RLMessagePortCallBack callout, int user)
{
    end_server(&server);
    peer_user = user ? OTHER_USER : 0;
    serve_peers(callout);
}

static void begin_keeping(RLIndex capacity, int user)
{
    serve_again(keep, user);
    RLMessagePortSetCapacity(server.port, capacity);
}

/* Asserts that other clients are served, and that this many requests have been kept. */
static void expect_kept(int count)
{
    while (kept_count < count)
        turn();
    expect_service();
    ck_assert_int_eq(kept_count, count);
}

/* Asserts that nothing keeps the loop awake: when all is handled, a run makes one pass (two if a timer is due) and sleeps. */
static void expect_sleep(void)
{
    atomic_int passes = 0;
    while (RLRunLoopRunInMode(MODE, 0, true) == kRLRunLoopRunHandledSource) {}
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    RLRunLoopRunInMode(MODE, 0.05, false);
    drop_observer(observer);
    ck_assert_int_le(passes, 2);
}

static void note_gone(RLMessagePortRequestRef request, UNUSED void *info)
{
    gone_count++;
    require(RLMessagePortRequestGetRemainingTime(request) == 0);
}

/* If a client's requests are taken over and not answered, the server reads no more of them than its capacity, but notices the
 * client's end. */
START_TEST(unanswered_requests_are_bounded_by_count)
{
    enum { CAPACITY = 8, SENT = 30 };
    int before = open_descriptors(), fd, released = 2;
    struct head head = request(0, INLINE);
    begin_keeping(CAPACITY, _i);
    double limit = honest_time_limit();
    head.message = TO_KEEP;
    greet(fd = plain_socket());
    for (int count = 0; count < SENT; count++)
        throw_packet(fd, &head, sizeof head, NULL, 0);
    expect_kept(CAPACITY);
    expect_service_within(limit);
    ck_assert(RLMessagePortRequestReply(kept[0], NULL));
    expect_kept(CAPACITY + 1);
    RLRelease(kept[0]);
    RLRelease(kept[1]);
    expect_kept(CAPACITY + 2);
    RLMessagePortSetCapacity(server.port, CAPACITY + 3);
    expect_kept(CAPACITY + 5);

    shutdown(fd, SHUT_WR);
    expect_sleep();
    for (int index = released; index < kept_count; index++)
        ck_assert(RLMessagePortRequestSetInvalidationCallBack(kept[index], note_gone, NULL));
    ck_assert_int_eq(gone_count, 0);
    close(fd);
    while (gone_count < CAPACITY + 3)
        turn();
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(kept[released], note_gone, NULL));
    ck_assert_int_eq(gone_count, CAPACITY + 4);
    expect_sleep();
    expect_kept(CAPACITY + 5);
    /* Requests that the client sent before its end are not lost. */
    while (released < SENT) {
        while (released < kept_count)
            RLRelease(kept[released++]);
        turn();
    }
    while (open_descriptors() > before)
        turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

START_TEST(disconnecting_other_users_invalidates_their_requests)
{
    struct head head = request(0, INLINE);
    begin_keeping(8, 1);
    head.message = TO_KEEP;
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, &head, sizeof head, NULL, 0);
    expect_kept(1);
    ck_assert(RLMessagePortRequestSetInvalidationCallBack(kept[0], note_gone, NULL));
    ck_assert(RLMessagePortSetAllowsOtherUsers(server.port, true));
    ck_assert_int_eq(gone_count, 0);
    ck_assert(RLMessagePortSetAllowsOtherUsers(server.port, false));
    ck_assert_int_eq(gone_count, 1);
    RLRelease(kept[0]);
    close(fd);
}
END_TEST

/* ---- clients that use the library ---- */

static int32_t send_number(RLMessagePortRef remote, int32_t number, RLIndex size, RLTimeInterval limit)
{
    uint8_t *bytes = calloc(1, (size_t)size);
    memcpy(bytes, &number, sizeof number);
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, size, kRLAllocatorNull);
    int32_t result = RLMessagePortSendRequest(remote, TO_KEEP, data, limit, 0, NULL, NULL);
    RLRelease(data);
    free(bytes);
    return result;
}

/* The server keeps 64 MB of requests; after that, the client's time limit applies. */
START_TEST(unanswered_requests_are_bounded_by_size)
{
    enum { SIZE = 8 << 20, MOST = 8 };
    begin_keeping(1024, 0);
    pid_t child = fork_child();
    if (child == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        for (int32_t number = 0; number < MOST; number++)
            child_assert(send_number(remote, number, SIZE, 50) == kRLMessagePortSuccess);
        child_assert(send_number(remote, MOST, SIZE, 0.06) == kRLMessagePortSendTimeout);
        _exit(0);
    }
    int status = -1;
    while (waitpid(child, &status, WNOHANG) == 0)
        turn();
    ck_assert_int_eq(status, 0);
    expect_kept(MOST);
    for (int index = 0; index < kept_count; index++)
        RLRelease(kept[index]);
}
END_TEST

/* Many small requests, most of which travel through shared memory. */
START_TEST(small_requests_wait_while_the_capacity_is_used_up)
{
    enum { CAPACITY = 50, MANY = 3000 };
    begin_keeping(CAPACITY, 0);
    pid_t child = fork_child();
    if (child == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        for (int32_t number = 0; number < MANY; number++)
            child_assert(send_number(remote, number, 16, 50) == kRLMessagePortSuccess);
        RLRelease(remote);
        _exit(0);
    }
    while (next_number < MANY) {
        RLRunLoopRunInMode(MODE, 0.05, true);
        ck_assert_int_le(kept_count, CAPACITY);
        if (kept_count == CAPACITY || next_number == MANY)
            while (kept_count > 0)
                RLRelease(kept[--kept_count]);
    }
    end_process(child, 0);
}
END_TEST

enum { FEW = 4, MOST_OF_FEW = 6 };
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;

static RLDataRef keep_for_thread(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    pthread_mutex_lock(&kept_mutex);
    require(kept_count < MOST_OF_FEW);
    RLDataRef reply = keep(local, id, data, info);
    pthread_mutex_unlock(&kept_mutex);
    return reply;
}

/* When the port reaches its capacity, each of the two loops may already have received one more. */
static RLDataRef keep_for_two(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    RLMessagePortRequestRef request = RLMessagePortCopyRequest(local);
    pthread_mutex_lock(&kept_mutex);
    require(kept_count <= MOST_OF_FEW);
    kept[kept_count++] = request;
    pthread_mutex_unlock(&kept_mutex);
    next_number++;
    return NULL;
}

static void *serve_too(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    while (!over)
        RLRunLoopRunInMode(MODE, 0.05, false);
    return NULL;
}

/* Answers or drops kept requests, immediately or more slowly than they arrive, and sometimes changes the capacity. */
static void *answer_kept(void *slowly)
{
    for (unsigned answered = 0; !over; slowly ? usleep(100) : sched_yield()) {
        pthread_mutex_lock(&kept_mutex);
        RLMessagePortRequestRef request = kept_count > 0 ? kept[--kept_count] : NULL;
        pthread_mutex_unlock(&kept_mutex);
        if (request == NULL)
            continue;
        if (answered % 2)
            require(RLMessagePortRequestReply(request, NULL));
        RLRelease(request);
        if (++answered % 50 == 0)
            RLMessagePortSetCapacity(server.port, FEW + answered / 50 % (MOST_OF_FEW - FEW + 1));
    }
    return NULL;
}

START_TEST(another_thread_may_answer_kept_requests)
{
    enum { MANY = 2000 };
    serve_again(_i ? keep_for_two : keep_for_thread, 0);
    RLMessagePortSetCapacity(server.port, FEW);
    pid_t child = fork_child();
    if (child == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        for (int32_t number = 0; number < SCALED(MANY); number++)
            child_assert(send_number(remote, number, 16, 50) == kRLMessagePortSuccess);
        _exit(0);
    }
    pthread_t thread = start_thread(answer_kept, _i ? &server : NULL);
    pthread_t second = _i ? start_thread(serve_too, NULL) : thread;
    while (next_number < SCALED(MANY))
        RLRunLoopRunInMode(MODE, 0.05, _i == 0);
    end_process(child, 0);
    over = true;
    join_thread(thread);
    if (_i)
        join_thread(second);
    while (kept_count > 0)
        RLRelease(kept[--kept_count]);
}
END_TEST

/* ---- clients that send nothing ---- */

/* The clients hold more descriptors than the server may have, at the requested port or at another one of its process. */
START_TEST(silent_clients_are_disconnected_when_descriptors_run_out)
{
    enum { SILENT = 375, DESCRIPTORS = 256 };
    struct server other;
    int ends[2];
    serve_again(echo, _i / 2);
    serve(&other, RLSTR("com.example.other"), echo, NULL);
    ck_assert(RLMessagePortSetAllowsOtherUsers(other.port, peer_user != 0));
    make_pipe(ends);
    pid_t crowd = fork_child();
    if (crowd == 0) {
        for (int count = 0; count < SILENT; count++)
            plain_socket_to(_i % 2 ? "other" : "test");
        say_ready(ends[1]);
        pause();
    }
    rlim_t limit = limit_descriptors(DESCRIPTORS);
    turn_until_ready(ends[0]);
    for (int round = 0; round < 3; round++)
        expect_service_of(limit);
    ck_assert_int_eq(take_diagnostics(), 0);
    end_process(crowd, SIGKILL);
    limit_descriptors(limit);
    close_pipe(ends);
    end_server(&other);
}
END_TEST

/* After 2 s such a client is disconnected when another one connects. */
START_TEST(a_client_that_sends_nothing_is_disconnected)
{
    char byte;
    int before = open_descriptors(), silent = plain_socket(), polite = plain_socket();
    send_hello(polite);
    while (open_descriptors() < before + 4)
        turn();
    RLRunLoopRunInMode(MODE, 2.001, false);
    ck_assert_int_eq(recv(silent, &byte, 1, MSG_DONTWAIT), -1);
    expect_service();
    ck_assert_int_eq(recv(silent, &byte, 1, MSG_DONTWAIT), 0);
    ck_assert_int_eq(recv(polite, &byte, 1, MSG_DONTWAIT), -1);
    close(silent);
    close(polite);
}
END_TEST

/* ---- small one-way requests ---- */

static int send_one_way(int fd, int count)
{
    struct head head = request(0, INLINE);
    head.id = 0;
    for (int index = 0; index < count; index++)
        throw_packet(fd, &head, sizeof head, NULL, 0);
    return fd;
}

/* Returns whether the server passes a ring to a new client that has sent enough requests. */
static bool gets_ring(int *fd)
{
    enum { ENOUGH = 16 };
    struct head head;
    int file, before = calls;
    send_hello(*fd = plain_socket());
    send_one_way(*fd, ENOUGH);
    while (calls < before + ENOUGH)
        turn();
    struct pollfd packet = {*fd, POLLIN, 0};
    if (poll(&packet, 1, 0) == 0)
        return false;
    require(receive_packet(*fd, &head, sizeof head, &file, 1) == 1 && head.kind == RING);
    close(file);
    return true;
}

START_TEST(at_most_128_clients_have_rings)
{
    enum { RINGS = 128 };
    int fds[RINGS + 2], before;
    for (int index = 0; index <= RINGS; index++)
        ck_assert_int_eq(gets_ring(&fds[index]), index < RINGS);
    before = open_descriptors();
    close(fds[0]);
    while (open_descriptors() > before - 2)
        turn();
    ck_assert(gets_ring(&fds[0]));
    ck_assert(!gets_ring(&fds[RINGS + 1]));
    for (int index = 0; index <= RINGS + 1; index++)
        close(fds[index]);
}
END_TEST

/* ---- turns ---- */

/* How many requests of such a length others wait for. Those of MEDIUM bytes are sent as one packet each. */
enum { SHORT, MEDIUM = 60000, LARGE = 100000, WITHOUT_PAUSE = 300 };
static const struct {
    size_t length;
    int in_turn;
} endless[] = {{SHORT, 64}, {MEDIUM, (1 << 20) / MEDIUM + 1}, {LARGE, (1 << 20) / LARGE + 1}};
static int greedy, other, served_before_the_other;

static void send_request(int fd, size_t length)
{
    static char packet[sizeof(struct head) + PIECE_LIMIT];
    struct head head = request(length, PIECES);
    head.id = 0;
    if (length == LARGE) {
        throw_packet(fd, &head, sizeof head, NULL, 0);
        head.kind = PIECE;
    }
    head.location = INLINE;
    memcpy(packet, &head, sizeof head);
    throw_packet(fd, packet, sizeof head + length, NULL, 0);
}

/* While one request is handled, the next one arrives; during the first, one of another client arrives as well. */
static RLDataRef provoke_next_request(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    struct head head = request(0, INLINE);
    if (id == TO_KEEP) {
        served_before_the_other = calls;
        return NULL;
    }
    calls++;
    head.id = 0;
    head.message = TO_KEEP;
    if (calls == 1)
        throw_packet(other, &head, sizeof head, NULL, 0);
    if (calls < WITHOUT_PAUSE)
        send_request(greedy, (size_t)RLDataGetLength(data));
    return NULL;
}

/* After 64 requests or 1 MB of one client, others have their turn: they are served then, or after the next such batch. */
START_TEST(endless_requests_of_one_client_do_not_starve_another)
{
    serve_again(provoke_next_request, 0);
    greet(greedy = plain_socket());
    greet(other = plain_socket());
    send_request(greedy, endless[_i].length);
    while (calls < WITHOUT_PAUSE || served_before_the_other == 0)
        RLRunLoopRunInMode(MODE, 0.05, false);
    ck_assert_int_le(served_before_the_other, 2 * endless[_i].in_turn);
    close(greedy);
    close(other);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-bounds");
    TCase *tcase = add_case(suite, "bounds", 40);
    tcase_add_checked_fixture(tcase, begin, finish);
    int users = peer_users();
    tcase_add_loop_test(tcase, unanswered_requests_are_bounded_by_count, 0, users);
    tcase_add_loop_test(tcase, disconnecting_other_users_invalidates_their_requests, 1, users);
    tcase_add_test(tcase, unanswered_requests_are_bounded_by_size);
    tcase_add_test(tcase, small_requests_wait_while_the_capacity_is_used_up);
    tcase_add_loop_test(tcase, another_thread_may_answer_kept_requests, 0, 2);
    tcase_add_loop_test(tcase, silent_clients_are_disconnected_when_descriptors_run_out, 0, 2 * users);
    tcase_add_test(tcase, a_client_that_sends_nothing_is_disconnected);
    tcase_add_test(tcase, at_most_128_clients_have_rings);
    tcase_add_loop_test(tcase, endless_requests_of_one_client_do_not_starve_another, 0, 3);
    return suite;
}
