/* Checks what a hostile server can pass instead of a ring, and what it can do with a ring: the client disconnects, or its
 * requests time out. */
#include "message-port-hostile-ring.h"
#include <limits.h>
#include <sched.h>

static int ring_file(size_t size, unsigned seals)
{
    static const uint8_t zeros[2 * RING_SIZE];
    int file = memfd_create("hostile-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(write(file, zeros, size) == (ssize_t)size);
    require(fcntl(file, F_ADD_SEALS, seals) == 0);
    return file;
}

static struct head head_with_ring(void)
{
    struct head head = head_of_ring();
    head.location = IN_FILE;
    head.length = RING_SIZE;
    return head;
}

/* Reads the packets of a client until one of this kind arrives. */
static void await_packet(int fd, int kind)
{
    struct head head = {0};
    while (head.kind != kind)
        if (recv(fd, &head, sizeof head, 0) <= 0)
            _exit(2);
}

/* Passes a ring as soon as the client accepts descriptors. */
static struct ring pass_ring(int fd)
{
    struct ring ring = {fd, ring_file(RING_SIZE, F_SEAL_SHRINK | F_SEAL_GROW), NULL};
    struct head head = head_with_ring();
    for (int count = 0; count < 16; count++)
        await_packet(fd, REQUEST);
    throw_packet(fd, &head, sizeof head, &ring.file, 1);
    ring.memory = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.file, 0);
    require(ring.memory != MAP_FAILED);
    return ring;
}

static unsigned hostile_head, hostile_wanted;

static void server_that_lies(int ready)
{
    int listener = listen_as_victim();
    say_ready(ready);
    struct ring ring = pass_ring(accept(listener, NULL, NULL));
    for (;;) {
        atomic_store(word(&ring, HEAD), hostile_head);
        atomic_store(word(&ring, WANTED), hostile_wanted);
        atomic_store(word(&ring, ROOM_WANTED), hostile_wanted);
    }
}

/* A server that reports a wrong reading position, or never advances it: messages are accepted until the ring is full, and then
 * time out. */
START_TEST(sending_times_out_if_a_server_never_reads_the_ring)
{
    static const unsigned heads[] = {0, 0x80000000u, ~0u, 12345, ROOM + 16};
    int ready;
    hostile_head = heads[_i];
    hostile_wanted = (unsigned)_i & 1;
    pid_t child = start_server_process(server_that_lies, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, VICTIM);
    ck_assert_ptr_nonnull(remote);
    RLDataRef data = text_data("sixty-four bytes, or nearly so many, of which nobody reads one");
    int sent = 0, result;
    while (mapped_files("hostile-ring", 0, ULONG_MAX) == 0)
        RLMessagePortSendRequest(remote, 1, data, 0, 0, NULL, NULL);
    while ((result = RLMessagePortSendRequest(remote, 1, data, 0, 0, NULL, NULL)) == kRLMessagePortSuccess)
        ck_assert_int_lt(sent++, 100000);
    ck_assert_int_eq(result, kRLMessagePortSendTimeout);
    ck_assert_int_gt(sent, 16);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 0.02, 0, NULL, NULL), kRLMessagePortSendTimeout);
    end_process(child, SIGKILL);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 1, 0, NULL, NULL), kRLMessagePortIsInvalid);
    RLRelease(data);
    RLRelease(remote);
    unlink(victim_address.sun_path);
}
END_TEST

/* What is wrong with the packet or the file that the server passes. */
enum { NO_SEALS, TOO_SMALL, TOO_LARGE, NO_FILE, A_PIPE, A_DEVICE, TWO_FILES, A_SECOND_RING, A_DOORBELL, DEEDS };

static void server_that_passes(int ready)
{
    enum { ENDS = F_SEAL_SHRINK | F_SEAL_GROW };
    int listener = listen_as_victim(), variant = (int)hostile_head, files[2], count = 1;
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    for (int requests = 0; requests < 16; requests++)
        await_packet(fd, REQUEST);
    struct head head = head_with_ring();
    files[0] = files[1] = ring_file(variant == TOO_SMALL   ? RING_SIZE - 4096
                                    : variant == TOO_LARGE ? RING_SIZE + 4096
                                                           : RING_SIZE,
                                    variant == NO_SEALS ? 0 : ENDS);
    if (variant == A_PIPE && pipe(files) != 0)
        _exit(4);
    if (variant == A_DEVICE)
        files[0] = open("/dev/zero", O_RDWR);
    if (variant == NO_FILE)
        count = 0;
    if (variant == TWO_FILES)
        count = 2;
    if (variant == A_DOORBELL) {
        head = head_of_doorbell();
        count = 0;
    }
    if (variant == A_SECOND_RING)
        throw_packet(fd, &head, sizeof head, files, 1);
    throw_packet(fd, &head, sizeof head, files, count);
    /* Waits until the client disconnects. */
    char packet[256];
    while (recv(fd, packet, sizeof packet, 0) > 0) {}
    unlink(victim_address.sun_path);
}

START_TEST(a_client_disconnects_if_the_passed_file_is_not_a_ring)
{
    int ready, result, sent = 0, before = open_descriptors();
    hostile_head = (unsigned)_i;
    pid_t child = start_server_process(server_that_passes, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, VICTIM);
    RLDataRef data = text_data("x");
    while ((result = RLMessagePortSendRequest(remote, 1, data, 1, 0, NULL, NULL)) == kRLMessagePortSuccess)
        ck_assert_int_lt(sent++, 1000000);
    ck_assert_int_eq(result, kRLMessagePortIsInvalid);
    ck_assert_int_eq(take_diagnostics(), 1);
    RLRelease(data);
    RLRelease(remote);
    end_process(child, 0);
    close(ready);
    /* The passed files are closed, though perhaps by another thread. */
    while (open_descriptors() > before)
        sched_yield();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-passed");
    TCase *tcase = add_case(suite, "passed", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_loop_test(tcase, sending_times_out_if_a_server_never_reads_the_ring, 0, 5);
    tcase_add_loop_test(tcase, a_client_disconnects_if_the_passed_file_is_not_a_ring, 0, DEEDS);
    return suite;
}
