/* Checks what a hostile client can do with the ring that the server passes to it. Hostile servers:
 * test-message-port-ring-passed.c. */
#include "message-port-hostile-ring.h"
#include <limits.h>
#include <poll.h>
#include <sched.h>

/* Receives the ring, which the server passes after enough small one-way requests. */
static struct ring receive_ring(int fd)
{
    struct ring ring = {fd, -1, NULL};
    struct head head = {0};
    while (ring.file < 0) {
        int files[1];
        if (receive_packet(fd, &head, sizeof head, files, 1) == 1)
            ring.file = files[0];
    }
    require(head.kind == RING && head.location == IN_FILE && head.length == RING_SIZE);
    ring.memory = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.file, 0);
    require(ring.memory != MAP_FAILED);
    return ring;
}

static struct ring ask_for_ring(void)
{
    struct head head = request(0, INLINE);
    int fd = plain_socket();
    greet(fd);
    head.id = 0;
    for (int count = 0; count < 16; count++)
        throw_packet(fd, &head, sizeof head, NULL, 0);
    for (struct pollfd packet = {fd, POLLIN, 0}; poll(&packet, 1, 0) == 0;)
        turn();
    return receive_ring(fd);
}

/* Takes the ring into use, as an honest client does. */
static struct ring share_ring(void)
{
    struct ring ring = ask_for_ring();
    struct head head = head_of_ring();
    throw_packet(ring.fd, &head, sizeof head, NULL, 0);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
    return ring;
}

/* Writes an entry at an offset, sets the tail, and rings the doorbell. */
static void put(struct ring *ring, uint32_t at, uint32_t length, uint32_t before, uint32_t tail)
{
    uint32_t entry[4] = {length, 7, before, 0};
    memcpy(ring->memory + PAGE + at % ROOM, entry, sizeof entry);
    atomic_store(word(ring, TAIL), tail);
    ring_bell(ring->fd);
}

/* `expect_disconnect` for a server that may not have read the doorbell. */
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

static void throw_head(struct head head)
{
    int fd = plain_socket();
    greet(fd);
    throw_packet(fd, &head, sizeof head, NULL, 0);
    expect_disconnect(fd);
}

START_TEST(invalid_ring_frames_disconnect)
{
    int before = open_descriptors();
    struct head head = head_of_ring();
    throw_head(head); /* no ring has been passed yet */
    throw_head(head_of_doorbell());
    head.location = IN_FILE;
    head.length = RING_SIZE;
    throw_head(head);
    head = head_of_ring();
    head.id = 1;
    throw_head(head);
    head = head_of_ring();
    int fd = plain_socket();
    throw_packet(fd, &head, sizeof head, NULL, 0);
    expect_disconnect(fd);
    /* The ring is taken into use twice, or a doorbell arrives before that. */
    struct ring ring = share_ring();
    throw_packet(ring.fd, &head, sizeof head, NULL, 0);
    expect_ring_cut(&ring);
    ring = ask_for_ring();
    ring_bell(ring.fd);
    expect_ring_cut(&ring);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* The client can neither resize the ring nor add a seal to it. It can punch holes into it, which read as zeros. */
START_TEST(a_client_cannot_resize_the_ring)
{
    struct ring ring = share_ring();
    int calls_before = calls;
    ck_assert_int_eq(ftruncate(ring.file, 4096), -1);
    ck_assert_int_eq(ftruncate(ring.file, 2 * RING_SIZE), -1);
    ck_assert_int_eq(fcntl(ring.file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    put(&ring, 0, 4, 0, 32);
    ck_assert_int_eq(fallocate(ring.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, ROOM), 0);
    while (calls == calls_before)
        turn();
    close(ring.fd);
    drop_ring(&ring);
    turn();
    take_diagnostics();
    expect_service();
}
END_TEST

/* A client that removes all pages again and again, while others are served. */
START_TEST(endless_hole_punching_does_not_starve_others)
{
    enum { SERVED = 200 };
    struct ring ring = share_ring();
    pid_t child = fork_child();
    if (child == 0)
        for (;;)
            (void)!fallocate(ring.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, RING_SIZE);
    for (int count = 0; count < SERVED; count++) {
        ring_bell(ring.fd);
        turn();
    }
    expect_service();
    end_process(child, SIGKILL);
    close(ring.fd);
    drop_ring(&ring);
    turn();
    take_diagnostics();
}
END_TEST

START_TEST(invalid_ring_entries_disconnect)
{
    static const struct {
        uint32_t length, before, tail;
    } wrong[] = {{0, 0, ROOM + 16}, {0, 0, ROOM + 1},   {0, 0, 1u << 31}, {0, 0, ~0u},     {0, 0, 8},
                 {0, 0, 15},        {1, 0, 16},         {17, 0, 32},      {4097, 0, 8192}, {~0u, 0, 32},
                 {~0u - 15, 0, 32}, {~0u - 31, 0, 32},  {ROOM, 0, ROOM},  {0, ~0u, 16},    {0, 1u << 31, 16},
                 {4, ~0u - 5, 32},  {1u << 31, 0, ROOM}};
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
        struct ring ring = share_ring();
        int before = calls;
        put(&ring, 0, wrong[index].length, wrong[index].before, wrong[index].tail);
        expect_ring_cut(&ring);
        ck_assert_int_eq(calls, before);
    }
    /* The entries before the invalid one are delivered. */
    struct ring ring = share_ring();
    int before = calls;
    uint32_t second[4] = {5000, 7, 0, 0};
    memcpy(ring.memory + PAGE + 32, second, sizeof second);
    put(&ring, 0, 16, 0, 64);
    expect_ring_cut(&ring);
    ck_assert_int_eq(calls, before + 1);
    expect_service();
}
END_TEST

/* An entry that is ordered after a request waits until that request arrives, and the loop sleeps meanwhile. */
START_TEST(an_early_ring_entry_waits_for_its_request)
{
    atomic_int passes = 0;
    struct ring ring = share_ring();
    int before = calls;
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

START_TEST(endless_doorbells_do_not_starve_others)
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

/* ---- the client changes entries while they are read ---- */

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
        atomic_store(word(ring, ROOM_WANTED), value & 1);
    }
    return NULL;
}

static RLDataRef measure(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    require(RLDataGetLength(data) <= 4096);
    atomic_fetch_add(&calls, 1);
    return NULL;
}

START_TEST(ring_entries_changed_while_being_read_do_no_harm)
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

/* A ring may contain anything at first. */
START_TEST(rings_of_random_bytes_do_no_harm)
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

/* ---- room ---- */

enum { ENTRY = 4096, ENTRIES = ROOM / ENTRY };
static struct ring *filled;
static int taken, taken_when_told;

/* During the first call, when the server knows of one more entry, the client fills the ring and asks to be told when there is room. */
static RLDataRef watch_doorbells(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                                 UNUSED void *info)
{
    atomic_fetch_add(&calls, 1);
    if (filled == NULL)
        return NULL;
    if (++taken == 1) {
        atomic_store(word(filled, TAIL), ROOM);
        atomic_store(word(filled, ROOM_WANTED), 1);
    }
    struct pollfd packet = {filled->fd, POLLIN, 0};
    if (taken_when_told == 0 && poll(&packet, 1, 0) == 1)
        taken_when_told = taken;
    return NULL;
}

START_TEST(a_client_is_told_once_when_half_of_the_ring_is_free)
{
    end_server(&server);
    serve(&server, NAME, watch_doorbells, NULL);
    struct ring ring = share_ring();
    struct head head;
    uint32_t entry[4] = {ENTRY - sizeof entry, 7, 0, 0};
    for (size_t index = 0; index < ENTRIES; index++)
        memcpy(ring.memory + PAGE + index * ENTRY, entry, sizeof entry);
    filled = &ring;
    atomic_store(word(&ring, TAIL), 2 * ENTRY);
    ring_bell(ring.fd);
    while (taken < ENTRIES)
        turn();
    filled = NULL;
    ck_assert_int_eq(taken_when_told, ENTRIES / 2);
    ck_assert_int_eq(recv(ring.fd, &head, sizeof head, MSG_DONTWAIT), sizeof head);
    ck_assert_int_eq(head.kind, DOORBELL);
    ck_assert_int_eq(recv(ring.fd, &head, sizeof head, MSG_DONTWAIT), -1);
    ck_assert_int_eq(atomic_load(word(&ring, ROOM_WANTED)), 0);
    /* Asked for when the ring is empty, as by a client that has just missed it. */
    atomic_store(word(&ring, ROOM_WANTED), 1);
    ring_bell(ring.fd);
    turn();
    ck_assert_int_eq(recv(ring.fd, &head, sizeof head, MSG_DONTWAIT), sizeof head);
    ck_assert_int_eq(head.kind, DOORBELL);
    close(ring.fd);
    drop_ring(&ring);
    turn();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-hostile");
    TCase *tcase = add_case(suite, "hostile", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_test(tcase, invalid_ring_frames_disconnect);
    tcase_add_test(tcase, a_client_cannot_resize_the_ring);
    tcase_add_test(tcase, endless_hole_punching_does_not_starve_others);
    tcase_add_test(tcase, invalid_ring_entries_disconnect);
    tcase_add_test(tcase, an_early_ring_entry_waits_for_its_request);
    tcase_add_test(tcase, endless_doorbells_do_not_starve_others);
    tcase_add_test(tcase, ring_entries_changed_while_being_read_do_no_harm);
    tcase_add_test(tcase, rings_of_random_bytes_do_no_harm);
    tcase_add_test(tcase, a_client_is_told_once_when_half_of_the_ring_is_free);
    return suite;
}
