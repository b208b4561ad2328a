/* Checks that whatever a peer sends, only its own connection is closed, with one diagnostic, and that the server and its other
 * clients continue. */
#include "message-port-hostile.h"
#include <poll.h>
#include <sys/resource.h>

START_TEST(invalid_frames_disconnect)
{
    int before = open_descriptors(), calls_before = calls;
    struct head head = request(4, INLINE);
    throw_request(head, 3, NULL, 0);
    throw_request(head, 5, NULL, 0);
    head.magic ^= 1;
    throw_request(head, 4, NULL, 0);
    for (int kind = 0; kind < 256; kind++) {
        if (kind == REQUEST)
            continue;
        head = request(4, INLINE);
        head.kind = (uint8_t)kind;
        throw_request(head, 4, NULL, 0);
    }
    throw_request(request(0, ABSENT), 0, NULL, 0);
    throw_request(request(4, PIECES), 0, NULL, 0);
    throw_request(request(4, IN_FILE), 0, NULL, 0);
    throw_request(request(4, 4), 4, NULL, 0);
    throw_request(request(100000, PIECES), 4, NULL, 0);
    throw_request(request(~0ull, INLINE), 4, NULL, 0);
    throw_request(request(1ull << 63, INLINE), 4, NULL, 0);
    throw_request(request(0x60000001, PIECES), 0, NULL, 0);
    throw_request(request(INLINE_LIMIT + 1, INLINE), INLINE_LIMIT + 1, NULL, 0);
    head = request(4, INLINE);
    head.reserved = 1;
    throw_request(head, 4, NULL, 0);
    for (size_t size = 1; size < sizeof head; size++) {
        int fd = plain_socket();
        greet(fd);
        throw_packet(fd, &head, size, NULL, 0);
        expect_disconnect(fd);
    }
    ck_assert_int_eq(calls, calls_before);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

START_TEST(missing_or_wrong_handshake_disconnects)
{
    struct head head = request(4, INLINE);
    char packet[sizeof head + 300] = {0};
    int fd = plain_socket();
    memcpy(packet, &head, sizeof head);
    throw_packet(fd, packet, sizeof head + 4, NULL, 0);
    expect_disconnect(fd);
    head.kind = HELLO;
    head.id = 0;
    head.length = 256;
    memcpy(packet, &head, sizeof head);
    fd = plain_socket();
    throw_packet(fd, packet, sizeof head + 256, NULL, 0);
    expect_disconnect(fd);
    /* A wrong name is no violation, but no port here has it. */
    char byte;
    head.length = 5;
    memcpy(packet, &head, sizeof head);
    memcpy(packet + sizeof head, "other", 5);
    fd = plain_socket();
    throw_packet(fd, packet, sizeof head + 5, NULL, 0);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
    ck_assert_int_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
    expect_service();
}
END_TEST

/* ---- large payloads travel in chunks ---- */

static void throw_piece(int fd, size_t length, uint8_t kind)
{
    static char packet[sizeof(struct head) + PIECE_LIMIT + 1];
    struct head head = {.magic = MAGIC, .kind = kind, .location = INLINE, .length = length, .deadline = ~0ull};
    memcpy(packet, &head, sizeof head);
    throw_packet(fd, packet, sizeof head + length, NULL, 0);
}

/* A client that has announced a payload of `length` bytes, and sent the first `sent` of them. */
static int begin_pieces(uint64_t length, size_t sent)
{
    struct head head = request(length, PIECES);
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, &head, sizeof head, NULL, 0);
    if (sent > 0)
        throw_piece(fd, sent, PIECE);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
    return fd;
}

START_TEST(invalid_pieces_disconnect)
{
    int before = open_descriptors(), calls_before = calls, fd;
    throw_request((struct head){.magic = MAGIC, .kind = PIECE, .location = INLINE, .length = 4}, 4, NULL, 0);
    throw_piece(fd = begin_pieces(100000, 50000), 50001, PIECE);
    expect_disconnect(fd);
    throw_piece(fd = begin_pieces(200000, 1), PIECE_LIMIT + 1, PIECE);
    expect_disconnect(fd);
    throw_piece(fd = begin_pieces(200000, 1), 0, PIECE);
    expect_disconnect(fd);
    throw_piece(fd = begin_pieces(200000, 1), 4, REQUEST);
    expect_disconnect(fd);
    struct head head = request(100000, PIECES);
    throw_packet(fd = begin_pieces(200000, 1), &head, sizeof head, NULL, 0);
    expect_disconnect(fd);
    ck_assert_int_eq(calls, calls_before);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* Neither an incomplete payload nor an abandoned one becomes a request. */
START_TEST(incomplete_payloads_are_not_delivered)
{
    int before = open_descriptors(), calls_before = calls, fd = begin_pieces(100000, 50000);
    struct head head = {.magic = MAGIC, .kind = ABANDONED, .deadline = ~0ull};
    close(fd);
    turn();
    ck_assert_int_eq(calls, calls_before);
    fd = begin_pieces(100000, 50000);
    throw_packet(fd, &head, sizeof head, NULL, 0);
    throw_piece(fd, 100, REQUEST);
    while (calls == calls_before)
        turn();
    ck_assert_int_eq(calls, calls_before + 1);
    ck_assert_int_eq(take_diagnostics(), 0);
    close(fd);
    turn();
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* Sending one byte at a time is slow for the sender, but others are served in between. */
START_TEST(tiny_pieces_do_not_starve_other_clients)
{
    enum { LENGTH = INLINE_LIMIT + 1 };
    struct head head;
    int fd = begin_pieces(LENGTH, 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int sent = 0; sent < LENGTH; sent++) {
        struct pollfd room = {fd, POLLOUT, 0};
        while (poll(&room, 1, 0) == 0)
            turn();
        throw_piece(fd, 1, PIECE);
        if (sent == LENGTH / 2)
            expect_service();
    }
    while (recv(fd, &head, sizeof head, 0) != sizeof head)
        turn();
    ck_assert(head.kind == REPLY && head.location == PIECES && head.length == LENGTH);
    close(fd);
    turn();
}
END_TEST

/* A server accepts no descriptors. Linux before 6.16 cannot refuse them, so there a client that sends one is disconnected. */
START_TEST(descriptors_passed_by_clients_are_refused)
{
    int before = open_descriptors(), ends[2], pair[2];
    make_pipe(ends);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int some[] = {ends[0], ends[1], pair[0], file};
    for (int count = 1; count <= 4; count++) {
        struct head head = request(0, INLINE);
        int fd = plain_socket();
        greet(fd);
        errno = 0;
        throw_packet(fd, &head, sizeof head, some + 4 - count, count);
        if (errno != EPERM) {
            expect_disconnect(fd);
            continue;
        }
        throw_packet(fd, &head, sizeof head, NULL, 0);
        for (int calls_before = calls; calls == calls_before;)
            turn();
        close(fd);
    }
    /* Before the connection is accepted, too. */
    int fd = plain_socket();
    struct head head = request(0, INLINE);
    errno = 0;
    throw_packet(fd, &head, sizeof head, &file, 1);
    bool is_refused = errno == EPERM;
    close(fd);
    turn();
    ck_assert_int_eq(take_diagnostics(), is_refused ? 0 : 1);
    close_pipe(ends);
    close_pipe(pair);
    close(file);
    while (open_descriptors() > before)
        turn();
    expect_service();
}
END_TEST

/* Returns the most memory that this process has ever had mapped. */
static long peak_kilobytes(void)
{
    long peak = -1;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof line, status))
        sscanf(line, "VmPeak: %ld", &peak);
    fclose(status);
    ck_assert_int_gt(peak, 0);
    return peak;
}

/* A claimed length of 1.5 GB costs nothing before the bytes arrive. */
START_TEST(claimed_lengths_allocate_no_memory)
{
    long before = peak_kilobytes();
    int fds[20];
    for (int index = 0; index < 20; index++)
        fds[index] = begin_pieces(0x60000000, index % 2 ? PIECE_LIMIT : 0);
    ck_assert_int_lt(peak_kilobytes() - before, 100 << 10);
    for (int index = 0; index < 20; index++)
        close(fds[index]);
    turn();
}
END_TEST

START_TEST(random_packets_harm_no_other_client)
{
    unsigned seed = 20;
    char packet[256];
    for (int round = 0; round < SCALED(1000); round++) {
        int fd = plain_socket();
        if (round & 1)
            greet(fd);
        size_t size = 1 + (size_t)rand_r(&seed) % sizeof packet;
        for (size_t index = 0; index < size; index++)
            packet[index] = (char)rand_r(&seed);
        if (round & 2 && size > 8)
            memcpy(packet, "RLM2\2\1\0\0", 8);
        throw_packet(fd, packet, size, NULL, 0);
        for (int pass = 0; pass < 4; pass++)
            RLRunLoopRunInMode(MODE, 0, false);
        close(fd);
        ck_assert_int_le(take_diagnostics(), 1);
    }
    expect_service();
}
END_TEST

START_TEST(a_thousand_silent_clients_do_not_block_others)
{
    enum { MANY = 1000 };
    static int silent[MANY];
    for (int index = 0; index < MANY; index++) {
        silent[index] = plain_socket();
        RLRunLoopRunInMode(MODE, 0, false);
    }
    expect_service();
    for (int index = 0; index < MANY; index++)
        close(silent[index]);
    expect_service();
}
END_TEST

/* More clients than the server has descriptors for: it does not spin, and continues when it has descriptors again. */
static void crowd_process(int ready)
{
    int fds[50];
    for (int index = 0; index < 50; index++)
        fds[index] = plain_socket();
    say_ready(ready);
    char byte;
    (void)!read(fds[0], &byte, 1);
    pause();
}

START_TEST(a_server_out_of_descriptors_does_not_spin)
{
    atomic_int passes = 0;
    int ready;
    struct rlimit limit;
    expect_service();
    pid_t child = start_server_process(crowd_process, &ready);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)open_descriptors() + 20;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    RLRunLoopRunInMode(MODE, 0.5, false);
    ck_assert_int_lt(passes, 300);
    end_process(child, SIGKILL);
    expect_service();
    drop_observer(observer);
}
END_TEST

/* A client sends requests and never reads. Its replies wait, and after a number of them the server stops reading its requests. */
START_TEST(the_server_stops_reading_a_client_that_does_not_read)
{
    static char packet[sizeof(struct head) + 20000];
    struct head head = request(20000, INLINE);
    int fd = plain_socket();
    greet(fd);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    memcpy(packet, &head, sizeof head);
    int sent = 0;
    for (int quiet = 0; quiet < 20;) {
        if (send(fd, packet, sizeof packet, MSG_NOSIGNAL) > 0) {
            sent++;
            quiet = 0;
        } else {
            quiet++;
        }
        RLRunLoopRunInMode(MODE, 0.001, false);
        ck_assert_int_lt(sent, 500);
    }
    expect_service();
    /* Now the client reads: all replies are there, and it is served again. */
    int received = 0;
    while (received < sent) {
        char reply[sizeof packet];
        if (recv(fd, reply, sizeof reply, 0) > 0)
            received++;
        RLRunLoopRunInMode(MODE, 0.001, false);
    }
    ck_assert_int_gt(send(fd, packet, sizeof packet, MSG_NOSIGNAL), 0);
    turn();
    ck_assert_int_gt(recv(fd, packet, sizeof packet, 0), 0);
    close(fd);
    turn();
}
END_TEST

/* ---- the server is hostile ---- */

/* The server's answer to the first request. */
static struct head violation;

static void nonsense_process(int ready)
{
    char packet[4096];
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    for (int count = 0; count < 2; count++)
        if (recv(fd, packet, sizeof packet, 0) <= 0)
            _exit(2);
    if (send(fd, &violation, sizeof violation, 0) < 0 || recv(fd, packet, sizeof packet, 0) != 0)
        _exit(3);
    unlink(victim_address.sun_path);
}

START_TEST(invalid_replies_close_the_connection)
{
    static const struct head answers[] = {
        {.kind = REPLY, .location = INLINE, .id = 1, .length = 1ull << 40},
        {.kind = REPLY, .location = INLINE, .id = 1, .length = 1},
        {.kind = REPLY, .location = ABSENT, .id = 0},
        {.kind = REPLY, .location = PIECES, .id = 1, .length = 10},
        {.kind = REPLY, .location = PIECES, .id = 1, .length = 0x60000001},
        {.kind = REPLY, .location = IN_FILE, .id = 1, .length = 100000},
        {.kind = PIECE, .location = ABSENT, .length = 0},
        {.kind = RING, .location = ABSENT},
        {.kind = DOORBELL, .location = ABSENT},
    };
    violation = answers[_i];
    violation.magic = MAGIC;
    int ready;
    pid_t child = start_server_process(nonsense_process, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, VICTIM);
    ck_assert_ptr_nonnull(remote);
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 1, "x", 20, MODE, &reply), kRLMessagePortBecameInvalidError);
    ck_assert_ptr_null(reply);
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert(!RLMessagePortIsValid(remote));
    RLRelease(remote);
    end_process(child, 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-hostile");
    TCase *tcase = add_case(suite, "hostile", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_test(tcase, invalid_frames_disconnect);
    tcase_add_test(tcase, missing_or_wrong_handshake_disconnects);
    tcase_add_test(tcase, invalid_pieces_disconnect);
    tcase_add_test(tcase, incomplete_payloads_are_not_delivered);
    tcase_add_test(tcase, tiny_pieces_do_not_starve_other_clients);
    tcase_add_test(tcase, descriptors_passed_by_clients_are_refused);
    tcase_add_test(tcase, claimed_lengths_allocate_no_memory);
    tcase_add_test(tcase, random_packets_harm_no_other_client);
    tcase_add_test(tcase, a_thousand_silent_clients_do_not_block_others);
    tcase_add_test(tcase, a_server_out_of_descriptors_does_not_spin);
    tcase_add_test(tcase, the_server_stops_reading_a_client_that_does_not_read);
    tcase_add_loop_test(tcase, invalid_replies_close_the_connection, 0, 9);
    return suite;
}
