/* Checks attacks by which a hostile peer would make the other end wait, through what it passes or holds, or take up its memory.
 * Each test checks that honest clients are served meanwhile. */
#include "message-port-hostile-ring.h"
#include "message-port-lingering.h"
#include <limits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* A limit in seconds, far below the time that an attack would last if it succeeded. */
enum { SOON = 10 };

/* ---- descriptors whose close waits ---- */

enum { IN_A_REQUEST, IN_MANY, EMPTY, UNREAD, UNREAD_AFTER_EMPTY, UNREAD_AT_THE_END, NEVER_ACCEPTED, WAYS };

/* Each variant runs on this kernel and on one that cannot refuse descriptors. */
START_TEST(a_passed_descriptor_that_lingers_does_not_block_the_server)
{
    int way = _i % WAYS, fd;
    bool ends = way == NEVER_ACCEPTED || way == UNREAD_AT_THE_END; /* the server, before it reads the packet */
    if (_i / WAYS % 2 && !forbid_refusal()) {
#ifdef __x86_64__
        ck_abort_msg("this kernel has no system call filters");
#endif
        printf("kernels that cannot refuse descriptors are left out, because there are no system call filters\n");
        return;
    }
    begin_with_peer(_i / WAYS / 2, echo);
    double limit = honest_time_limit();
    int lingering = lingering_socket(), some[] = {lingering, lingering, lingering};
    struct head head = request(0, INLINE);
    fd = plain_socket();
    if (way != NEVER_ACCEPTED)
        greet(fd);
    if (way == UNREAD || way == UNREAD_AFTER_EMPTY) {
        head.kind = 99; /* the peer is disconnected for this packet, so the next ones stay unread */
        throw_packet(fd, &head, sizeof head, NULL, 0);
    }
    if (way == UNREAD_AFTER_EMPTY)
        throw_packet(fd, &head, 0, NULL, 0);
    if (way == UNREAD_AT_THE_END) {
        throw_packet(fd, &head, sizeof head, NULL, 0);
        turn(); /* the reply will not be received, so the end of the peer is an error at the server's end */
    }
    errno = 0;
    throw_packet(fd, &head, way == EMPTY ? 0 : sizeof head, some, way == IN_MANY ? 3 : 1);
    /* If the kernel refused the descriptor, only this process has it, and must not wait for it either. */
    if (errno == EPERM)
        setsockopt(lingering, SOL_SOCKET, SO_LINGER, &(struct linger){0}, sizeof(struct linger));
    close(lingering);
    if (way == UNREAD_AT_THE_END)
        close(fd);
    double before = monotonic_seconds();
    if (ends)
        end_server(&server);
    turn();
    turn();
    take_diagnostics();
    if (way != UNREAD_AT_THE_END)
        close(fd);
    turn();
    ck_assert_double_lt(monotonic_seconds() - before, SOON);
    if (ends)
        serve(&server, NAME, echo, NULL);
    expect_service_within(limit);
    close(lingering_peer);
    finish();
}
END_TEST

/* A hostile server passes such a descriptor to a client that expects shared memory, perhaps with an empty packet. */
static bool with_an_empty_packet;

static void server_that_lingers(int ready)
{
    char packet[256];
    struct head head = {.magic = MAGIC, .kind = RING, .location = IN_FILE, .length = RING_SIZE, .deadline = ~0ull};
    int listener = listen_as_victim(), lingering = lingering_socket();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    for (int count = 0; count < 16; count++)
        if (recv(fd, packet, sizeof packet, 0) <= 0)
            _exit(2);
    throw_packet(fd, &head, with_an_empty_packet ? 0 : sizeof head, &lingering, 1);
    if (!with_an_empty_packet)
        throw_packet(fd, &head, sizeof head, &lingering, 1); /* stays unread */
    close(lingering);
    while (recv(fd, packet, sizeof packet, 0) > 0) {}
    unlink(victim_address.sun_path);
    pause();
}

START_TEST(a_passed_descriptor_that_lingers_does_not_block_the_client)
{
    int ready;
    begin_with_peer(_i / 2, echo);
    with_an_empty_packet = _i % 2;
    pid_t child = start_server_process(server_that_lingers, &ready);
    RLMessagePortRef remote = remote_of_victim();
    RLDataRef data = text_data("x");
    double before = monotonic_seconds();
    while (RLMessagePortSendRequest(remote, 1, data, 1, 0, NULL, NULL) == kRLMessagePortSuccess) {}
    RLRelease(data);
    RLRelease(remote);
    ck_assert_double_lt(monotonic_seconds() - before, SOON);
    ck_assert_int_eq(take_diagnostics(), 1);
    end_process(child, SIGKILL);
    finish();
}
END_TEST

/* ---- the lock of a file that both ends have ---- */

static int ring_of_server;

/* Holds the lock of the file, by a write whose source is memory that never arrives. */
static void *hold_lock(void *memory)
{
    (void)!write(ring_of_server, memory, 4096);
    return NULL;
}

/* Memory whose first page is missing and stays missing, and a descriptor that becomes readable when a thread waits for that page. */
struct missing {
    void *memory;
    int fd;
};

/* Creates such memory. `memory` is NULL if this process may not: root may, except in some containers. */
static struct missing missing_memory(void)
{
    enum { CAN_TRACE = 19 };
    struct missing missing = {.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)};
    if (missing.fd < 0) {
        require(errno == ENOSYS || geteuid() != 0 || prctl(PR_CAPBSET_READ, CAN_TRACE, 0, 0, 0) != 1);
        dprintf(STDOUT_FILENO, "locks of shared memory are left out, because userfaultfd is not allowed: %s\n",
                strerror(errno));
        return missing;
    }
    struct uffdio_api api = {.api = UFFD_API};
    missing.memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)missing.memory, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    require(ioctl(missing.fd, UFFDIO_API, &api) == 0 && ioctl(missing.fd, UFFDIO_REGISTER, &range) == 0);
    return missing;
}

/* Starts a thread that holds the lock of the ring's file, and returns once the thread has the lock. */
static void hold_lock_apart(struct missing missing)
{
    pthread_t thread;
    struct pollfd fault = {missing.fd, POLLIN, 0};
    if (missing.memory == NULL)
        return;
    require(pthread_create(&thread, NULL, hold_lock, missing.memory) == 0);
    require(poll(&fault, 1, -1) == 1 && fault.revents == POLLIN);
}

static void client_that_holds(int ready)
{
    struct head head = request(0, INLINE), ring = {.magic = MAGIC, .kind = RING, .deadline = ~0ull};
    int fd = plain_socket(), files[1] = {-1};
    /* Created before the switch, because not every user may create such memory. */
    struct missing missing = missing_memory();
    become_peer();
    send_hello(fd);
    head.id = 0;
    for (int count = 0; count < 16; count++)
        throw_packet(fd, &head, sizeof head, NULL, 0);
    require(receive_packet(fd, &head, sizeof head, files, 1) == 1 && head.kind == RING);
    ring_of_server = files[0];
    hold_lock_apart(missing);
    throw_packet(fd, &ring, sizeof ring, NULL, 0);
    ring.kind = DOORBELL;
    throw_packet(fd, &ring, sizeof ring, NULL, 0);
    say_ready(ready);
    pause();
}

START_TEST(a_client_that_locks_shared_memory_does_not_block_the_server)
{
    int ends[2];
    begin_with_peer(_i, echo);
    double limit = honest_time_limit();
    make_pipe(ends);
    pid_t child = fork_child();
    if (child == 0)
        client_that_holds(ends[1]);
    close(ends[1]);
    struct pollfd said = {ends[0], POLLIN, 0};
    while (poll(&said, 1, 0) == 0)
        turn();
    expect_service_within(limit);
    turn();
    RLMessagePortInvalidate(server.port);
    end_process(child, SIGKILL);
    close(ends[0]);
    finish();
}
END_TEST

static void server_that_holds(int ready)
{
    static const uint8_t zeros[RING_SIZE];
    struct head head = {.magic = MAGIC, .kind = RING, .location = IN_FILE, .length = RING_SIZE, .deadline = ~0ull};
    char packet[256];
    struct missing missing = missing_memory();
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    ring_of_server = memfd_create("held-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(write(ring_of_server, zeros, RING_SIZE) == RING_SIZE && lseek(ring_of_server, 0, SEEK_SET) == 0);
    require(fcntl(ring_of_server, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    for (int count = 0; count < 16; count++)
        if (recv(fd, packet, sizeof packet, 0) <= 0)
            _exit(2);
    hold_lock_apart(missing);
    throw_packet(fd, &head, sizeof head, &ring_of_server, 1);
    while (recv(fd, packet, sizeof packet, 0) > 0) {}
    pause();
}

static double limit_of_child;

/* The client's requests go into the held ring; its time limit must hold, and it can be killed. */
static void ask_server_that_holds(int ready)
{
    double best = HUGE_VAL;
    RLMessagePortRef remote = remote_of_victim();
    while (mapped_files("held-ring", 0, ULONG_MAX) == 0) { /* until then the socket may be full */
        int32_t result = ask(remote, 1, "x", 0, NULL, NULL);
        child_assert(result == kRLMessagePortSuccess || result == kRLMessagePortSendTimeout);
    }
    child_assert(ask(remote, 1, "x", 0, NULL, NULL) == kRLMessagePortSuccess);
    for (int round = 0; round < 3; round++) {
        double before = monotonic_seconds();
        child_assert(ask(remote, 1, "x", 0.05, MODE, NULL) == kRLMessagePortReceiveTimeout);
        best = fmin(best, monotonic_seconds() - before);
    }
    child_assert(best < 0.05 + limit_of_child);
    say_ready(ready);
    pause();
}

START_TEST(a_server_that_locks_shared_memory_does_not_block_clients)
{
    int ready[2];
    begin_with_peer(_i, echo);
    limit_of_child = honest_time_limit();
    pid_t hostile = start_server_process(server_that_holds, &ready[0]);
    pid_t client = start_server_process(ask_server_that_holds, &ready[1]);
    end_process(client, SIGKILL);
    end_process(hostile, SIGKILL);
    finish();
}
END_TEST

static void serve_until_killed(int ready)
{
    serve_peers(echo);
    say_ready(ready);
    RLRunLoopRun();
}

START_TEST(a_server_can_be_killed_while_a_client_locks_shared_memory)
{
    int ready[2];
    use_own_directory();
    peer_user = _i ? OTHER_USER : 0;
    pid_t served = start_server_process(serve_until_killed, &ready[0]);
    pid_t hostile = start_server_process(client_that_holds, &ready[1]);
    ask_as_child(NULL);
    end_process(served, SIGKILL);
    end_process(hostile, SIGKILL);
    remove_own_directory();
}
END_TEST

/* ---- memory ---- */

static RLDataRef answer_much(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    enum { MUCH = 8 << 20 };
    calls++;
    if (RLDataGetLength(data) > 0)
        return RLRetain(data);
    static uint8_t bytes[MUCH];
    return RLDataCreate(NULL, bytes, MUCH);
}

START_TEST(unread_replies_take_limited_memory)
{
    enum { CLIENTS = 3, QUESTIONS = 1000 };
    int fds[CLIENTS];
    begin_with_peer(_i, answer_much);
    double limit = honest_time_limit();
    struct head head = request(0, INLINE);
    long before = resident_megabytes();
    for (int index = 0; index < CLIENTS; index++) {
        greet(fds[index] = plain_socket());
        fcntl(fds[index], F_SETFL, O_NONBLOCK);
    }
    for (int count = 0; count < QUESTIONS; count++) {
        for (int index = 0; index < CLIENTS; index++)
            throw_packet(fds[index], &head, sizeof head, NULL, 0);
        RLRunLoopRunInMode(MODE, 0, false);
    }
    if (!SANITIZED)
        ck_assert_int_lt(resident_megabytes() - before, 100);
    expect_service_within(limit);
    for (int index = 0; index < CLIENTS; index++)
        close(fds[index]);
    finish();
}
END_TEST

/* ---- time ---- */

static void send_without_end(void)
{
    static uint8_t bytes[1 << 20];
    uid_t user = geteuid();
    become_peer();
    RLMessagePortRef remote = RLMessagePortCreateRemoteOfUser(NULL, NAME, user);
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    while (RLMessagePortSendRequest(remote, 1, data, 50, 0, NULL, NULL) == kRLMessagePortSuccess) {}
    _exit(0);
}

/* Most replies must arrive within the limit. */
static void ask_while_others_send(double limit)
{
    enum { ASKED = 50 };
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    int slow = 0;
    for (int count = 0; count < ASKED; count++) {
        double before = monotonic_seconds();
        child_assert(ask(remote, 1, "honest", SOON, MODE, NULL) == kRLMessagePortSuccess);
        slow += monotonic_seconds() - before > limit;
    }
    child_assert(slow < ASKED / 2);
    _exit(0);
}

START_TEST(large_requests_of_hostile_clients_do_not_delay_honest_ones)
{
    enum { GREEDY = 3 };
    pid_t greedy[GREEDY];
    begin_with_peer(_i, echo);
    double limit = honest_time_limit();
    for (int index = 0; index < GREEDY; index++)
        if ((greedy[index] = fork_child()) == 0)
            send_without_end();
    for (int before = calls; calls < before + 10;)
        RLRunLoopRunInMode(MODE, 0.05, true);
    pid_t child = fork_child();
    if (child == 0)
        ask_while_others_send(limit);
    int status = -1;
    while (waitpid(child, &status, WNOHANG) == 0)
        RLRunLoopRunInMode(MODE, 0.05, true);
    ck_assert_int_eq(status, 0);
    for (int index = 0; index < GREEDY; index++)
        end_process(greedy[index], SIGKILL);
    finish();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-attacks");
    TCase *tcase = add_case(suite, "attacks", 40);
    int users = peer_users();
    tcase_add_loop_test(tcase, a_passed_descriptor_that_lingers_does_not_block_the_server, 0, 2 * WAYS * users);
    tcase_add_loop_test(tcase, a_passed_descriptor_that_lingers_does_not_block_the_client, 0, 2 * users);
    tcase_add_loop_test(tcase, a_client_that_locks_shared_memory_does_not_block_the_server, 0, users);
    tcase_add_loop_test(tcase, a_server_that_locks_shared_memory_does_not_block_clients, 0, users);
    tcase_add_loop_test(tcase, a_server_can_be_killed_while_a_client_locks_shared_memory, 0, users);
    tcase_add_loop_test(tcase, unread_replies_take_limited_memory, 0, users);
    tcase_add_loop_test(tcase, large_requests_of_hostile_clients_do_not_delay_honest_ones, 0, users);
    return suite;
}
