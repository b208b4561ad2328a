/* Whatever a peer sends: its connection is closed with one diagnostic, and the server and its other clients go on. */
#include "message-port-hostile.h"
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
    throw_request(request(4, 3), 4, NULL, 0);
    throw_request(request(4, 5), 4, NULL, 0);
    throw_request(request(100000, RETURNED_BUFFER), 0, NULL, 0);
    throw_request(request(~0ull, INLINE), 4, NULL, 0);
    throw_request(request(1ull << 63, INLINE), 4, NULL, 0);
    throw_request(request(0x60000001, IN_FILE), 0, NULL, 0);
    throw_request(request(60000, INLINE), 60000, NULL, 0);
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

START_TEST(unexpected_descriptors_disconnect)
{
    int before = open_descriptors(), ends[2];
    make_pipe(ends);
    int some[4] = {ends[0], ends[1], ends[0], ends[1]};
    throw_request(request(4, INLINE), 4, some, 1);
    throw_request(request(4, INLINE), 4, some, 4);
    throw_request(request(100000, IN_FILE), 0, some, 1);
    throw_request(request(100000, IN_FILE), 0, some, 2);
    throw_request(request(100000, IN_FILE), 0, NULL, 0);
    /* A descriptor without any bytes counts as the end of the connection. */
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, "", 0, some, 1);
    while (recv(fd, (char[1]){0}, 1, MSG_DONTWAIT) != 0)
        turn();
    close(fd);
    close_pipe(ends);
    /* A memory file that is too small, is not sealed, or has holes where data should be. */
    int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char *bytes = calloc(1, 100000);
    ck_assert_int_eq(write(file, bytes, 100000), 100000);
    throw_request(request(100000, IN_FILE), 0, &file, 1);
    ck_assert_int_eq(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    throw_request(request(200000, IN_FILE), 0, &file, 1);
    ck_assert_int_eq(ftruncate(file, 1 << 30), 0);
    throw_request(request(1 << 29, IN_FILE), 0, &file, 1);
    free(bytes);
    close(file);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* The most memory that this process has ever had mapped. */
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

/* A claimed length of 1.5 GB costs nothing but a look at the file that comes with it. */
START_TEST(claimed_lengths_are_checked_before_memory_is_allocated)
{
    long before = peak_kilobytes();
    int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(file, 100000), 0);
    ck_assert_int_eq(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    throw_request(request(0x60000000, IN_FILE), 0, &file, 1);
    close(file);
    ck_assert_int_lt(peak_kilobytes() - before, 1 << 20);
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
            memcpy(packet, "RLM1\2\1\0\0", 8);
        throw_packet(fd, packet, size, NULL, 0);
        for (int pass = 0; pass < 4; pass++)
            RLRunLoopRunInMode(MODE, 0, false);
        close(fd);
        ck_assert_int_le(take_diagnostics(), 1);
    }
    expect_service();
}
END_TEST

START_TEST(a_thousand_silent_clients)
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

/* More clients than the server has descriptors for: it does not spin, and goes on when it has descriptors again. */
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

/* A client that sends requests and never reads: its replies wait, and after a number of them no more of its requests
 * are read. */
START_TEST(a_client_that_does_not_read)
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
    /* Now it reads: all replies are there, and it is served again. */
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

/* What the server answers, and after how many packets. The shared buffer is in the last of them. */
static struct violation {
    struct head head;
    int packets;
    enum { ONLY_LIES, TAKES_PAGES_AWAY, HINDERS_SEALS } deed;
} violation;

static void spoil(int file)
{
    /* No other process closes this end. */
    if (file < 0 || ftruncate(file, 4096) == 0)
        _exit(4);
    if (violation.deed == TAKES_PAGES_AWAY &&
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536) != 0)
        _exit(5);
    if (violation.deed == HINDERS_SEALS && fcntl(file, F_ADD_SEALS, F_SEAL_SEAL) != 0)
        _exit(6);
}

static int receive_file(int fd)
{
    char packet[4096];
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {packet, sizeof packet};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    if (recvmsg(fd, &message, 0) <= 0)
        _exit(2);
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    int file = -1;
    if (item != NULL)
        memcpy(&file, CMSG_DATA(item), sizeof file);
    return file;
}

static void nonsense_process(int ready)
{
    char packet[4096];
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    int file = -1;
    for (int count = 0; count < violation.packets; count++)
        file = receive_file(fd);
    if (violation.deed != ONLY_LIES)
        spoil(file);
    if (send(fd, &violation.head, sizeof violation.head, 0) < 0 || recv(fd, packet, sizeof packet, 0) != 0)
        _exit(3);
    unlink(victim_address.sun_path);
}

START_TEST(a_server_that_sends_invalid_replies)
{
    static const struct violation answers[] = {
        {{.kind = REPLY, .location = INLINE, .length = 1ull << 40}, 2, ONLY_LIES},
        /* reports that it has read a buffer, of a request with a number */
        {{.kind = READ, .location = ABSENT}, 2, ONLY_LIES},
        /* with a payload in a buffer that was not sent, was not read, is too small, or has changed */
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 0}, 2, ONLY_LIES},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 1}, 2, ONLY_LIES},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 0}, 3, ONLY_LIES},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 2}, 3, ONLY_LIES},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 1 << 20, .buffers_read = 1}, 3, ONLY_LIES},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 1}, 3, TAKES_PAGES_AWAY},
        {{.kind = REPLY, .location = RETURNED_BUFFER, .length = 100000, .buffers_read = 1}, 3, HINDERS_SEALS},
    };
    static const uint8_t bytes[100000];
    violation = answers[_i];
    violation.head.magic = MAGIC;
    violation.head.id = 1;
    int ready;
    pid_t child = start_server_process(nonsense_process, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, VICTIM);
    ck_assert_ptr_nonnull(remote);
    /* Only the second large request uses the shared buffer. */
    bool uses_buffer = violation.packets > 2;
    RLDataRef data = RLDataCreate(NULL, bytes, uses_buffer ? sizeof bytes : 1), reply = NULL;
    if (uses_buffer)
        ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 1, 0, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 1, 20, MODE, &reply), kRLMessagePortBecameInvalidError);
    ck_assert_ptr_null(reply);
    RLRelease(data);
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
    tcase_add_test(tcase, unexpected_descriptors_disconnect);
    tcase_add_test(tcase, claimed_lengths_are_checked_before_memory_is_allocated);
    tcase_add_test(tcase, random_packets_harm_no_other_client);
    tcase_add_test(tcase, a_thousand_silent_clients);
    tcase_add_test(tcase, a_server_out_of_descriptors_does_not_spin);
    tcase_add_test(tcase, a_client_that_does_not_read);
    tcase_add_loop_test(tcase, a_server_that_sends_invalid_replies, 0, 9);
    return suite;
}
