/* Rings that hostile clients pass, and what hostile ends do with a ring that is shared. */
#include "message-port-hostile.h"

enum { PAGE = 4096, ROOM = 128 * 1024, RING_SIZE = PAGE + ROOM, TAIL = 0, HEAD = 64, WANTED = 128 };

/* The ring as its two ends see it. */
struct ring {
    int fd, file;
    uint8_t *memory;
};

static atomic_uint *word(struct ring *ring, size_t offset) { return (atomic_uint *)(void *)(ring->memory + offset); }

static int ring_file(size_t size, unsigned seals)
{
    static const uint8_t zeros[2 * RING_SIZE];
    int file = memfd_create("hostile-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(write(file, zeros, size) == (ssize_t)size);
    require(fcntl(file, F_ADD_SEALS, seals) == 0);
    return file;
}

static struct head head_of_ring(void)
{
    return (struct head){.magic = MAGIC, .kind = RING, .location = IN_FILE, .length = RING_SIZE, .deadline = ~0ull};
}

static struct head head_of_doorbell(void) { return (struct head){.magic = MAGIC, .kind = DOORBELL, .deadline = ~0ull}; }

static void ring_bell(int fd)
{
    struct head head = head_of_doorbell();
    throw_packet(fd, &head, sizeof head, NULL, 0);
}

/* As an honest client does. */
static struct ring share_ring(void)
{
    struct head head = head_of_ring();
    struct ring ring = {plain_socket(), ring_file(RING_SIZE, F_SEAL_SHRINK | F_SEAL_GROW), NULL};
    ring.memory = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.file, 0);
    require(ring.memory != MAP_FAILED);
    atomic_store(word(&ring, WANTED), 1);
    greet(ring.fd);
    throw_packet(ring.fd, &head, sizeof head, &ring.file, 1);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
    return ring;
}

static void drop_ring(struct ring *ring)
{
    munmap(ring->memory, RING_SIZE);
    close(ring->file);
}

/* Writes an entry at an offset, and a tail behind it. */
static void put(struct ring *ring, uint32_t at, uint32_t length, uint32_t before, uint32_t tail)
{
    uint32_t entry[4] = {length, 7, before, 0};
    memcpy(ring->memory + PAGE + at % ROOM, entry, sizeof entry);
    atomic_store(word(ring, TAIL), tail);
    ring_bell(ring->fd);
}

/* `expect_disconnect` for a server that has not read the doorbell. */
static void expect_ring_cut(struct ring *ring)
{
    char byte;
    turn();
    turn();
    ck_assert_int_eq(take_diagnostics(), 1);
    ssize_t received = recv(ring->fd, &byte, 1, MSG_DONTWAIT);
    ck_assert(received == 0 || (received < 0 && errno == ECONNRESET));
    close(ring->fd);
    drop_ring(ring);
}

static void throw_ring(int file)
{
    struct head head = head_of_ring();
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, &head, sizeof head, &file, 1);
    expect_disconnect(fd);
    close(file);
}

START_TEST(files_that_are_no_rings_disconnect)
{
    int before = open_descriptors(), ends[2];
    char path[64];
    enum { ENDS = F_SEAL_SHRINK | F_SEAL_GROW };
    throw_ring(ring_file(RING_SIZE, 0));
    throw_ring(ring_file(RING_SIZE, F_SEAL_GROW));
    throw_ring(ring_file(RING_SIZE - 4096, ENDS));
    throw_ring(ring_file(RING_SIZE + 4096, ENDS));
    throw_ring(ring_file(4096, ENDS));
    throw_ring(ring_file(RING_SIZE, ENDS | F_SEAL_FUTURE_WRITE));
    throw_ring(ring_file(RING_SIZE, ENDS | F_SEAL_WRITE));
    /* It may get holes, and no seal prevents that. */
    throw_ring(ring_file(RING_SIZE, ENDS | F_SEAL_SEAL));
    int file = ring_file(RING_SIZE, ENDS);
    ck_assert_int_eq(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 65536, 4096), 0);
    throw_ring(file);
    file = ring_file(RING_SIZE, ENDS);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    throw_ring(open(path, O_RDONLY | O_CLOEXEC));
    close(file);
    throw_ring(open("/dev/zero", O_RDWR | O_CLOEXEC));
    make_pipe(ends);
    throw_ring(ends[0]);
    throw_ring(ends[1]);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

static void throw_head(struct head head, const int *passed, int count)
{
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, &head, sizeof head, passed, count);
    expect_disconnect(fd);
}

START_TEST(invalid_ring_frames_disconnect)
{
    int before = open_descriptors();
    int files[2] = {ring_file(RING_SIZE, F_SEAL_SHRINK | F_SEAL_GROW), ring_file(RING_SIZE, F_SEAL_SHRINK)};
    struct head head = head_of_ring();
    throw_head(head, NULL, 0);
    throw_head(head, files, 2);
    head.length = RING_SIZE - 4096;
    throw_head(head, files, 1);
    head = head_of_ring();
    head.id = 1;
    throw_head(head, files, 1);
    head = head_of_ring();
    head.location = SHARED_BUFFER;
    throw_head(head, files, 1);
    /* A doorbell without a ring, or with a file, and a ring before the handshake. */
    throw_head(head_of_doorbell(), NULL, 0);
    throw_head(head_of_doorbell(), files, 1);
    head = head_of_ring();
    int fd = plain_socket();
    throw_packet(fd, &head, sizeof head, files, 1);
    expect_disconnect(fd);
    /* A second ring. */
    struct ring ring = share_ring();
    throw_packet(ring.fd, &head, sizeof head, files, 1);
    expect_ring_cut(&ring);
    close(files[0]);
    close(files[1]);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

START_TEST(a_shared_ring_is_not_replaced)
{
    struct ring ring = share_ring();
    ck_assert_int_eq(fallocate(ring.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(ring.file, 4096), -1);
    ck_assert_int_eq(ftruncate(ring.file, 2 * RING_SIZE), -1);
    close(ring.fd);
    drop_ring(&ring);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

START_TEST(invalid_entries_disconnect)
{
    static const struct {
        uint32_t length, before, tail;
    } wrong[] = {{0, 0, ROOM + 16}, {0, 0, ROOM + 1},   {0, 0, 1u << 31}, {0, 0, ~0u},     {0, 0, 8},
                 {0, 0, 15},        {1, 0, 16},         {17, 0, 32},      {4097, 0, 8192}, {~0u, 0, 32},
                 {~0u - 15, 0, 32}, {~0u - 31, 0, 32},  {ROOM, 0, ROOM},  {0, ~0u, 16},    {0, 1u << 31, 16},
                 {4, ~0u - 5, 32},  {1u << 31, 0, ROOM}};
    int before = calls;
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
        struct ring ring = share_ring();
        put(&ring, 0, wrong[index].length, wrong[index].before, wrong[index].tail);
        expect_ring_cut(&ring);
    }
    ck_assert_int_eq(calls, before);
    /* The entries in front of it are delivered. */
    struct ring ring = share_ring();
    uint32_t second[4] = {5000, 7, 0, 0};
    memcpy(ring.memory + PAGE + 32, second, sizeof second);
    put(&ring, 0, 16, 0, 64);
    expect_ring_cut(&ring);
    ck_assert_int_eq(calls, before + 1);
    expect_service();
}
END_TEST

/* An entry that waits for a request waits until that comes, and the loop sleeps meanwhile. */
START_TEST(an_early_entry_waits_for_its_request)
{
    atomic_int passes = 0;
    int before = calls;
    struct ring ring = share_ring();
    put(&ring, 0, 4, 1, 32);
    turn();
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    RLRunLoopRunInMode(MODE, 0.1, false);
    ck_assert_int_lt(passes, 10);
    drop_observer(observer);
    ck_assert_int_eq(calls, before);
    expect_service();
    before = calls;
    struct head head = {.magic = MAGIC, .kind = REQUEST, .location = INLINE, .message = 1, .deadline = ~0ull};
    throw_packet(ring.fd, &head, sizeof head, NULL, 0);
    ring_bell(ring.fd);
    while (calls < before + 2)
        turn();
    ck_assert_uint_eq(atomic_load(word(&ring, HEAD)), 32);
    close(ring.fd);
    drop_ring(&ring);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

START_TEST(doorbells_without_end)
{
    struct ring ring = share_ring();
    struct head head = head_of_doorbell();
    int rung = 0;
    fcntl(ring.fd, F_SETFL, O_NONBLOCK);
    for (int round = 0; round < 20; round++) {
        while (send(ring.fd, &head, sizeof head, MSG_NOSIGNAL) > 0)
            rung++;
        if (round % 5 == 0)
            expect_service();
        turn();
    }
    ck_assert_int_gt(rung, 200);
    int before = calls;
    put(&ring, 0, 4, 0, 32);
    while (calls == before)
        turn();
    close(ring.fd);
    drop_ring(&ring);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

/* ---- the client changes what is being read ---- */

static atomic_bool over;

static void *scribble(void *info)
{
    struct ring *ring = info;
    unsigned seed = (unsigned)ring->fd;
    while (!over) {
        uint32_t value = (uint32_t)rand_r(&seed), place = (uint32_t)rand_r(&seed) % 64;
        uint32_t some[] = {value % 64, value % 8192, value << 8, 0};
        atomic_store((atomic_uint *)(void *)(ring->memory + PAGE + 4 * place), some[value >> 8 & 3]);
        if (value % 4 == 0)
            atomic_store(word(ring, TAIL), (atomic_load(word(ring, HEAD)) + value / 4 % 1024) & ~15u);
        atomic_store(word(ring, WANTED), value);
    }
    return NULL;
}

static RLDataRef measure(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    require(RLDataGetLength(data) <= 4096);
    atomic_fetch_add(&calls, 1);
    return NULL;
}

START_TEST(entries_that_change_while_they_are_read)
{
    end_server(&server);
    serve(&server, NAME, measure, NULL);
    for (int round = 0; round < SCALED(200); round++) {
        struct ring ring = share_ring();
        over = false;
        pthread_t thread = start_thread(scribble, &ring);
        for (int pass = 0; pass < 20; pass++) {
            ring_bell(ring.fd);
            RLRunLoopRunInMode(MODE, 0, false);
        }
        over = true;
        join_thread(thread);
        ck_assert_int_le(take_diagnostics(), 1);
        close(ring.fd);
        drop_ring(&ring);
        turn();
        take_diagnostics();
    }
    end_server(&server);
    serve(&server, NAME, echo, NULL);
    expect_service();
}
END_TEST

/* Whatever a ring contains at first. */
START_TEST(rings_of_random_bytes)
{
    unsigned seed = 11;
    for (int round = 0; round < SCALED(300); round++) {
        struct ring ring = share_ring();
        for (size_t index = 0; index < PAGE + 2048; index++)
            ring.memory[index] = (uint8_t)(rand_r(&seed) >> (round % 3 == 0 ? 4 : 12)) & (round % 2 ? 0xff : 0x11);
        atomic_store(word(&ring, TAIL), (uint32_t)rand_r(&seed) % 4096);
        ring_bell(ring.fd);
        for (int pass = 0; pass < 4; pass++)
            RLRunLoopRunInMode(MODE, 0, false);
        close(ring.fd);
        drop_ring(&ring);
        turn();
        ck_assert_int_le(take_diagnostics(), 1);
    }
    expect_service();
}
END_TEST

/* ---- the server is hostile ---- */

/* The file that comes with the next ring; the packets in front of it are read. */
static struct ring receive_ring(int fd)
{
    struct ring ring = {fd, -1, NULL};
    while (ring.file < 0) {
        struct head head;
        char control[CMSG_SPACE(sizeof(int))];
        struct iovec part = {&head, sizeof head};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(fd, &message, 0) <= 0)
            _exit(2);
        if (message.msg_controllen > 0)
            memcpy(&ring.file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    }
    ring.memory = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.file, 0);
    if (ring.memory == MAP_FAILED || fcntl(ring.file, F_ADD_SEALS, F_SEAL_WRITE) == 0 || ftruncate(ring.file, 0) == 0)
        _exit(3);
    return ring;
}

static unsigned hostile_head, hostile_wanted;

static void server_that_lies(int ready)
{
    int listener = listen_as_victim();
    say_ready(ready);
    struct ring ring = receive_ring(accept(listener, NULL, NULL));
    for (;;) {
        atomic_store(word(&ring, HEAD), hostile_head);
        atomic_store(word(&ring, WANTED), hostile_wanted);
    }
}

/* A server that reports a wrong reading position, or none: messages are accepted until the ring is full, and then time
 * out. */
START_TEST(a_server_that_does_not_read)
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

static void server_that_hands_over_a_ring(int ready)
{
    int listener = listen_as_victim(), file = ring_file(RING_SIZE, F_SEAL_SHRINK | F_SEAL_GROW);
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    char packet[256];
    for (int count = 0; count < 2; count++)
        if (recv(fd, packet, sizeof packet, 0) <= 0)
            _exit(2);
    struct head head = hostile_head ? head_of_ring() : head_of_doorbell();
    throw_packet(fd, &head, sizeof head, &file, (int)hostile_head);
    if (recv(fd, packet, sizeof packet, 0) != 0)
        _exit(3);
    unlink(victim_address.sun_path);
}

START_TEST(a_server_must_not_pass_a_ring)
{
    int ready;
    hostile_head = (unsigned)_i;
    pid_t child = start_server_process(server_that_hands_over_a_ring, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, VICTIM);
    ck_assert_int_eq(ask(remote, 1, "x", 20, MODE, NULL), kRLMessagePortBecameInvalidError);
    ck_assert_int_eq(take_diagnostics(), 1);
    RLRelease(remote);
    end_process(child, 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-hostile");
    TCase *tcase = add_case(suite, "hostile", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_test(tcase, files_that_are_no_rings_disconnect);
    tcase_add_test(tcase, invalid_ring_frames_disconnect);
    tcase_add_test(tcase, a_shared_ring_is_not_replaced);
    tcase_add_test(tcase, invalid_entries_disconnect);
    tcase_add_test(tcase, an_early_entry_waits_for_its_request);
    tcase_add_test(tcase, doorbells_without_end);
    tcase_add_test(tcase, entries_that_change_while_they_are_read);
    tcase_add_test(tcase, rings_of_random_bytes);
    tcase_add_loop_test(tcase, a_server_that_does_not_read, 0, 5);
    tcase_add_loop_test(tcase, a_server_must_not_pass_a_ring, 0, 2);
    return suite;
}
