/* Checks what closing descriptors of other processes can cost a process on a kernel that cannot refuse them: a limited number of
 * threads and descriptors, and no thread at all as long as no peer passes any. */
#include "message-port-lingering.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 8, CONNECTIONS = 12, PASSED = 64 };

/* Returns a connection with packets that the server has not received: a greeting and, if `passed` is not -1, a request with that
 * descriptor. */
static int unread_client(int passed)
{
    struct head head = request(0, INLINE);
    int fd = plain_socket();
    send_hello(fd);
    if (passed >= 0)
        throw_packet(fd, &head, sizeof head, &passed, 1);
    return fd;
}

static void expect_end(int fd)
{
    char byte;
    ssize_t size = recv(fd, &byte, 1, MSG_DONTWAIT);
    /* ECONNRESET: the other end has not received everything. */
    ck_assert(size == 0 || (size < 0 && errno == ECONNRESET));
    close(fd);
}

/* The threads that do not close descriptors. ThreadSanitizer starts one of its own when the first thread is created. */
static int own_threads;
static void *end_at_once(void *unused) { return unused; }
static void count_own_threads(void)
{
    join_thread(start_thread(end_at_once, NULL));
    own_threads = live_threads();
    /* A joined thread may still be counted for a moment. */
    for (int count = 0; count < 1000 && own_threads > 1; count++)
        own_threads = live_threads() < own_threads ? live_threads() : own_threads;
}
static int closing_threads(void) { return live_threads() - own_threads; }

/* A thread that has closed everything may still be counted for a moment. */
static void expect_few_threads(void)
{
    for (int count = 0; count < 1000 && closing_threads() > THREADS; count++)
        sched_yield();
    ck_assert_int_le(closing_threads(), THREADS);
}

static void wait_until_closed(int expected)
{
    while (open_descriptors() > expected || closing_threads() > 0)
        turn();
    ck_assert_int_eq(open_descriptors(), expected);
}

/* Returns the number of descriptors of a process without ports. */
static int idle_descriptors(void)
{
    begin();
    finish();
    count_own_threads();
    return open_descriptors();
}

/* Creates sockets that linger; `peers` are their other ends. */
static void open_lingering(int *lingering, int *peers)
{
    for (int index = 0; index < CONNECTIONS; index++) {
        lingering[index] = lingering_socket();
        peers[index] = lingering_peer;
    }
}

static void close_all_of(const int *fds)
{
    for (int index = 0; index < CONNECTIONS; index++)
        close(fds[index]);
}

static int go_on[2];

static void wait_for_end(int fd)
{
    char byte;
    child_assert(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

static void wait_until_told(void)
{
    char byte;
    child_assert(read(go_on[0], &byte, 1) == 1);
}

/* Each of the peer's connections passes many descriptors, the last of which lingers. */
static void pass_descriptors(int ready)
{
    int lingering[CONNECTIONS], peers[CONNECTIONS], clients[CONNECTIONS], passed[PASSED];
    struct head head = request(0, INLINE);
    become_peer();
    open_lingering(lingering, peers);
    for (int index = 0; index < CONNECTIONS; index++) {
        for (int number = 0; number < PASSED; number++)
            passed[number] = number < PASSED - 1 ? ready : lingering[index];
        send_hello(clients[index] = plain_socket());
        throw_packet(clients[index], &head, sizeof head, passed, PASSED);
        close(lingering[index]);
    }
    say_ready(ready);
    for (int index = 0; index < CONNECTIONS; index++)
        wait_for_end(clients[index]);
    /* A connection that this peer makes later ends as well. */
    wait_for_end(unread_client(-1));
    wait_until_told();
    close_all_of(peers);
    wait_until_told();
    /* Once everything is closed, this peer is served like any other. */
    int client = unread_client(-1);
    throw_packet(client, &head, sizeof head, NULL, 0);
    child_assert(recv(client, passed, sizeof passed, 0) > 0);
}

/* The server receives one packet with descriptors. While these are being closed, the packets of the peer's other connections stay
 * in their sockets, which are closed together with them. */
START_TEST(a_peer_that_passes_descriptors_costs_a_limited_number)
{
    int ready, status = -1, ended = 0;
    if (!forbid_refusal())
        return;
    begin_with_peer(_i, echo);
    count_own_threads();
    double limit = honest_time_limit();
    require(pipe(go_on) == 0);
    turn();
    int idle = open_descriptors() + 1;
    pid_t child = start_server_process(pass_descriptors, &ready);
    while (ended < CONNECTIONS + 1) {
        turn();
        ended += take_diagnostics();
        ck_assert_int_le(open_descriptors(), idle + CONNECTIONS + 1 + PASSED);
        expect_few_threads();
    }
    ck_assert_int_eq(closing_threads(), THREADS);
    expect_service_within(limit);
    require(write(go_on[1], "", 1) == 1);
    wait_until_closed(idle);
    require(write(go_on[1], "", 1) == 1);
    while (waitpid(child, &status, WNOHANG) == 0)
        turn();
    ck_assert_int_eq(status, 0);
    close(ready);
    close(go_on[0]);
    close(go_on[1]);
    finish();
}
END_TEST

/* The number of sockets that no thread has begun to close: one for each client with unread packets, one of which is honest, less
 * one for each thread. */
enum { WAITING = CONNECTIONS + 1 - THREADS };

/* In the child of a fork(), descriptors that the parent's threads had not begun to close are closed together with the next socket
 * that the child closes. */
static void close_in_child(UNUSED void *info)
{
    use_own_directory();
    peer_user = 0;
    begin();
    close(unread_client(-1));
    int before = open_descriptors();
    finish();
    while (open_descriptors() > before - WAITING - 2 || closing_threads() > 0)
        sched_yield();
}

/* Closing a listener does not block, whatever the clients that wait to be accepted have sent. All of them are disconnected. */
START_TEST(clients_that_wait_when_a_port_ends_are_disconnected)
{
    int lingering[CONNECTIONS], peers[CONNECTIONS], clients[CONNECTIONS], empty = idle_descriptors();
    if (!forbid_refusal())
        return;
    begin_with_peer(_i, echo);
    open_lingering(lingering, peers);
    int before = open_descriptors(), silent = plain_socket();
    for (int index = 0; index < CONNECTIONS; index++) {
        clients[index] = unread_client(lingering[index]);
        close(lingering[index]);
    }
    int honest = unread_client(-1);
    finish();
    expect_end(silent);
    expect_end(honest);
    for (int index = 0; index < CONNECTIONS; index++)
        expect_end(clients[index]);
    /* The listener, its lock file and this process's copies of the lingering sockets are closed. As no thread is free, the server's ends
     * of WAITING clients are still open. */
    while (open_descriptors() > before - CONNECTIONS - 2 + WAITING)
        sched_yield();
    ck_assert_int_eq(closing_threads(), THREADS);
    ck_assert_int_eq(run_in_child(close_in_child, NULL), 0);
    close_all_of(peers);
    wait_until_closed(empty);
}
END_TEST

static void end_ports_without_threads(void *waits)
{
    int empty = idle_descriptors();
    if (!forbid_refusal() || !forbid_threads())
        return;
    begin();
    int silent = waits ? plain_socket() : -1;
    finish();
    if (waits)
        expect_end(silent);
    child_assert(open_descriptors() == empty);
}

/* Ports that end while no client waits, or only one that has sent nothing, need no thread. In a child, because LeakSanitizer needs
 * one when a test ends. */
START_TEST(a_port_that_ends_starts_no_thread)
{
    ck_assert_int_eq(run_in_child(end_ports_without_threads, _i ? &server : NULL), 0);
}
END_TEST

static void *invalidate_without_threads(UNUSED void *unused)
{
    require(forbid_threads());
    RLMessagePortInvalidate(server.port);
    return NULL;
}

/* If no thread can be created, what is to be closed waits until one can. */
START_TEST(without_threads_nothing_is_forgotten)
{
    pthread_t thread;
    int empty = idle_descriptors();
    if (!forbid_refusal())
        return;
    begin();
    int client = unread_client(-1);
    require(pthread_create(&thread, NULL, invalidate_without_threads, NULL) == 0);
    pthread_join(thread, NULL);
    expect_end(client);
    ck_assert_int_eq(open_descriptors(), empty + 1);
    finish();
    begin();
    client = unread_client(-1);
    finish();
    expect_end(client);
    wait_until_closed(empty);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-closing");
    TCase *tcase = add_case(suite, "closing", 40);
    int users = peer_users();
    tcase_add_loop_test(tcase, a_peer_that_passes_descriptors_costs_a_limited_number, 0, users);
    tcase_add_loop_test(tcase, clients_that_wait_when_a_port_ends_are_disconnected, 0, users);
    tcase_add_loop_test(tcase, a_port_that_ends_starts_no_thread, 0, 2);
    tcase_add_test(tcase, without_threads_nothing_is_forgotten);
    return suite;
}
