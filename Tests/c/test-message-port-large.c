/* Large one-way requests: the client uses its shared buffer again as soon as the server has reported that it read it.
 * Here the server is a plain socket, which reports that or does not; at the end it is a real one. */
#include "message-port-hostile.h"
#include <limits.h>
#include <poll.h>
#include <sched.h>

enum { LARGE = 100000, ANY = 300 };

/* What the server has seen, and what it is to do. Shared with it. */
static struct {
    atomic_int received, said,
        read;        /* packets; what the server reported about them; how many it is to report as read from now on */
    atomic_int junk; /* how many frames it sends before that */
    struct {
        uint8_t kind, location;
        uint64_t inode;
    } packets[ANY];
} * shared;

static void begin_shared(void)
{
    use_own_directory();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
}

static void report_read(int fd, int count)
{
    struct head head = {.magic = MAGIC, .kind = READ, .buffers_read = (uint16_t)count, .deadline = ~0ull};
    throw_packet(fd, &head, sizeof head, NULL, 0);
}

static int receive(int fd, struct head *head)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {head, sizeof *head};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    if (recvmsg(fd, &message, 0) <= 0)
        _exit(0);
    int file = -1;
    if (CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

static void plain_server(int ready)
{
    int listener = listen_as_victim(), buffers_sent = 0, reported = 0;
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int count = 0; count < ANY; count++) {
        struct head head;
        struct stat status = {0};
        struct pollfd packet = {fd, POLLIN, 0};
        poll(&packet, 1, -1);
        int file = receive(fd, &head);
        if (file >= 0 && (fstat(file, &status) != 0 || close(file) != 0))
            _exit(1);
        shared->packets[count].kind = head.kind;
        shared->packets[count].location = head.location;
        shared->packets[count].inode = status.st_ino;
        buffers_sent += head.location == SHARED_BUFFER;
        for (int junk = 0; junk < shared->junk; junk++)
            report_read(fd, junk % 2 ? buffers_sent + 1 : reported);
        if (shared->read) {
            reported = buffers_sent;
            report_read(fd, reported);
        }
        shared->received = count + 1;
    }
}

static RLMessagePortRef remote;

/* Returns when the server has received it and has reported what it is to report. */
static void send_large(RLTimeInterval limit)
{
    static const uint8_t bytes[LARGE];
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    int before = shared->received;
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, limit, 0, NULL, NULL), kRLMessagePortSuccess);
    RLRelease(data);
    while (shared->received == before)
        sched_yield();
}

static int location(int count) { return shared->packets[count].location; }

static pid_t begin_with_plain_server(void)
{
    int ready;
    pid_t child = start_server_process(plain_server, &ready);
    remote = RLMessagePortCreateRemote(NULL, RLSTR("com.example.victim"));
    ck_assert_ptr_nonnull(remote);
    while (shared->received == 0)
        sched_yield();
    ck_assert_int_eq(shared->packets[0].kind, HELLO);
    return child;
}

static void end_with_plain_server(pid_t child)
{
    RLRelease(remote);
    ck_assert_int_eq(take_diagnostics(), 0);
    end_process(child, 0);
}

START_TEST(a_buffer_that_was_read_is_sent_again)
{
    int before = open_descriptors();
    shared->read = 1;
    pid_t child = begin_with_plain_server();
    for (int count = 1; count <= 40; count++) {
        /* The client need not wait for what was reported: it works without a time limit as well. */
        send_large(count % 2 ? 10 : 0);
        ck_assert_int_eq(location(count), count == 1 ? IN_FILE : SHARED_BUFFER);
        ck_assert(count < 3 || shared->packets[count].inode == shared->packets[2].inode);
    }
    ck_assert_int_ne((int)(shared->packets[1].inode == shared->packets[2].inode), 1);
    end_with_plain_server(child);
    /* The pipe to the server. */
    ck_assert_int_le(open_descriptors(), before + 1);
}
END_TEST

/* Other payloads go in files of their own meanwhile; a sender that has waited in vain does not wait again. */
START_TEST(a_buffer_that_was_not_read_is_not_written_to)
{
    pid_t child = begin_with_plain_server();
    for (int count = 1; count <= 10; count++) {
        send_large(count % 2 ? 10 : 0);
        ck_assert_int_eq(location(count), count == 2 ? SHARED_BUFFER : IN_FILE);
    }
    shared->read = 1;
    send_large(10);
    ck_assert_int_eq(location(11), IN_FILE);
    /* Now the report may be known, once a thread has read it. */
    RLRunLoopRunInMode(MODE, 0, false);
    RLDataRef reply = NULL;
    shared->read = 0;
    ck_assert_int_eq(ask(remote, 1, "not answered", 0.01, MODE, &reply), kRLMessagePortReceiveTimeout);
    send_large(10);
    ck_assert_int_eq(location(13), SHARED_BUFFER);
    ck_assert(shared->packets[13].inode == shared->packets[2].inode);
    end_with_plain_server(child);
}
END_TEST

/* A buffer that was not sent was not read; earlier reports do not matter. */
START_TEST(a_server_that_reports_too_much)
{
    pid_t child = begin_with_plain_server();
    shared->junk = 2;
    shared->read = 1;
    for (int count = 1; count <= 60; count++) {
        send_large(count % 2 ? 10 : 0);
        ck_assert(location(count) == IN_FILE || location(count) == SHARED_BUFFER);
    }
    ck_assert(RLMessagePortIsValid(remote));
    end_with_plain_server(child);
}
END_TEST

/* Four threads send, each with data of another size. */
static void send_by_threads(void *(*body)(void *), size_t step, int byte)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    RLDataRef data[THREADS];
    for (int index = 0; index < THREADS; index++) {
        size_t size = 40000 + step * (size_t)index;
        uint8_t *bytes = malloc(size);
        memset(bytes, byte, size);
        data[index] = RLDataCreate(NULL, bytes, (RLIndex)size);
        free(bytes);
        threads[index] = start_thread(body, (void *)(uintptr_t)data[index]);
    }
    for (int index = 0; index < THREADS; index++) {
        join_thread(threads[index]);
        RLRelease(data[index]);
    }
}

static void *send_sixty(void *info)
{
    for (int count = 0; count < 60; count++)
        require(RLMessagePortSendRequest(remote, 1, info, 10, 0, NULL, NULL) == kRLMessagePortSuccess);
    return NULL;
}

/* The server reports buffers as read before they are sent: a buffer that a thread is writing to must not be used by
 * another. SharedBufferTests shows that; here it has many chances to go wrong. */
START_TEST(a_server_that_reports_too_soon)
{
    pid_t child = begin_with_plain_server();
    shared->junk = 40;
    send_by_threads(send_sixty, 800000, 0);
    end_with_plain_server(child);
}
END_TEST

/* ---- a real server ---- */

/* Memory files of this process that may contain large payloads. */
static int large_files(void) { return mapped_files("runloop", (1 << 20) + 1, ULONG_MAX); }

/* Returns how many of those the server has, or checks what it receives. */
static RLDataRef count_or_check(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    static int32_t expected;
    if (id < 0) {
        uint8_t count = (uint8_t)large_files();
        return RLDataCreate(NULL, &count, 1);
    }
    const uint8_t *bytes = RLDataGetBytePtr(data);
    require(id == expected++);
    for (RLIndex index = 0; index < RLDataGetLength(data); index += 997)
        require(bytes[index] == (uint8_t)(id + index));
    return NULL;
}

static void real_server(int ready)
{
    static struct server real;
    serve(&real, NAME, count_or_check, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

static void send_pattern(int32_t id, RLIndex size)
{
    uint8_t *bytes = malloc((size_t)size);
    for (RLIndex index = 0; index < size; index++)
        bytes[index] = (uint8_t)(id + index);
    RLDataRef data = RLDataCreate(NULL, bytes, size);
    require(RLMessagePortSendRequest(remote, id, data, 100, 0, NULL, NULL) == kRLMessagePortSuccess);
    RLRelease(data);
    free(bytes);
}

static int files_of_server(void)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, -1, "how many", 100, MODE, &reply), kRLMessagePortSuccess);
    int count = RLDataGetBytePtr(reply)[0];
    RLRelease(reply);
    return count;
}

/* Small one-way requests, through the socket and through the ring, make both ends close the buffer. */
START_TEST(buffers_are_closed_after_small_requests)
{
    int ready, open = 0;
    int32_t id = 0;
    pid_t child = start_server_process(real_server, &ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    for (int round = 0; round < 3; round++) {
        for (int count = 0; count < 60; count++)
            send_pattern(id++, 2 << 20);
        ck_assert_int_eq(large_files(), 1);
        ck_assert_int_eq(files_of_server(), 1);
        for (int count = 0; count < 200; count++)
            send_pattern(id++, round == 2 ? 20000 : 64);
        ck_assert_int_eq(files_of_server(), 0);
        ck_assert_int_eq(large_files(), 0);
        ck_assert(round == 0 || open_descriptors() == open);
        open = open_descriptors();
    }
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

static void *send_much(void *info)
{
    RLDataRef data = info;
    for (int count = 0; count < SCALED(40); count++) {
        RLDataRef reply = NULL;
        bool asks = count % 5 == 4;
        require(RLMessagePortSendRequest(remote, asks ? -1 : 0, data, 100, 100, asks ? MODE : NULL, &reply) ==
                kRLMessagePortSuccess);
        if (asks)
            RLRelease(reply);
    }
    return NULL;
}

static RLDataRef count_only(UNUSED RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    require(RLDataGetBytePtr(data)[RLDataGetLength(data) - 1] == 7);
    return id < 0 ? RLRetain(data) : NULL;
}

static void counting_server(int ready)
{
    static struct server real;
    serve(&real, NAME, count_only, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

/* Several threads use the buffer in turn, and the report that one of them reads may be about another's request. */
START_TEST(threads_share_the_buffer)
{
    int ready;
    pid_t child = start_server_process(counting_server, &ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    send_by_threads(send_much, 300000, 7);
    RLRelease(remote);
    end_process(child, SIGKILL);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-large");
    TCase *tcase = add_case(suite, "large", 60);
    tcase_add_checked_fixture(tcase, begin_shared, remove_own_directory);
    tcase_add_test(tcase, a_buffer_that_was_read_is_sent_again);
    tcase_add_test(tcase, a_buffer_that_was_not_read_is_not_written_to);
    tcase_add_test(tcase, a_server_that_reports_too_much);
    tcase_add_test(tcase, a_server_that_reports_too_soon);
    tcase_add_test(tcase, buffers_are_closed_after_small_requests);
    tcase_add_test(tcase, threads_share_the_buffer);
    return suite;
}
