/* Shared buffers of hostile clients: none of them can make the server fault, or keep it from serving others. */
#include "message-port-hostile.h"
#include <limits.h>
#include <poll.h>

/* How many memory files of other processes are mapped here. */
static int shared_buffers_mapped(void) { return mapped_files("shared", 0, ULONG_MAX); }

static int lent_file(off_t size, unsigned seals)
{
    static char bytes[100000];
    int file = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(file, size), 0);
    ck_assert_int_eq(pwrite(file, bytes, sizeof bytes, size - (off_t)sizeof bytes), sizeof bytes);
    ck_assert_int_eq(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

static struct head in_shared_buffer(uint64_t length)
{
    struct head head = request(length, SHARED_BUFFER);
    head.id = 0;
    return head;
}

static void lend_file(int fd, int file, int mapped)
{
    int before = calls;
    struct head head = in_shared_buffer(100000);
    throw_packet(fd, &head, sizeof head, &file, 1);
    while (calls == before)
        turn();
    ck_assert_int_eq(calls, before + 1);
    ck_assert_int_eq(shared_buffers_mapped(), mapped);
    /* The server reports that it has read the file, so it may be written to again. */
    static uint16_t buffers_read;
    ck_assert_int_eq(recv(fd, &head, sizeof head, MSG_DONTWAIT), sizeof head);
    ck_assert(head.magic == MAGIC && head.kind == READ && head.location == ABSENT && head.id == 0 && head.length == 0);
    buffers_read = head.buffers_read == 1 ? 1 : (uint16_t)(buffers_read + 1);
    ck_assert_uint_eq(head.buffers_read, buffers_read);
}

START_TEST(invalid_shared_buffers_disconnect)
{
    enum { PAGES_STAY = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE };
    int before = open_descriptors(), calls_before = calls;
    int loose = lent_file(100000, F_SEAL_GROW), file = lent_file(100000, PAGES_STAY);
    throw_request(in_shared_buffer(100000), 0, &loose, 1); /* without a seal it could be made smaller */
    throw_request(in_shared_buffer(100000), 0, NULL, 0);
    throw_request(in_shared_buffer(9 << 20), 0, &file, 1);
    throw_request(in_shared_buffer(200000), 0, &file, 1);
    ck_assert_int_eq(calls, calls_before);
    ck_assert_int_eq(shared_buffers_mapped(), 0);
    int others[2] = {file, lent_file(100000, PAGES_STAY)}, fd = plain_socket();
    greet(fd);
    for (int round = 0; round < 6; round++)
        lend_file(fd, others[round / 2 % 2], 1);
    /* It is mapped, and must not change its size. */
    ck_assert_int_eq(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(file, 4096), -1);
    struct head larger = in_shared_buffer(200000);
    throw_packet(fd, &larger, sizeof larger, &file, 1);
    expect_disconnect(fd);
    ck_assert_int_eq(shared_buffers_mapped(), 0);
    close(loose);
    close(file);
    close(others[1]);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* The receiver seals a file whose owner could still remove pages, once it has mapped it. */
START_TEST(shared_buffers_are_sealed)
{
    int before = open_descriptors(), fd = plain_socket(), soft = lent_file(100000, F_SEAL_SHRINK);
    char *bytes = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, soft, 0);
    greet(fd);
    lend_file(fd, soft, 2);
    ck_assert_int_eq(fallocate(soft, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536), -1);
    ck_assert_int_eq(errno, EPERM);
    (void)madvise(bytes, 65536, MADV_REMOVE); /* an emulator returns 0 and does nothing */
    ck_assert_int_eq(lseek(soft, 0, SEEK_HOLE), 100000);
    ck_assert_int_eq(ftruncate(soft, 4096), -1);
    ck_assert_int_eq(munmap(bytes, 100000), 0);
    lend_file(fd, soft, 1);
    close(fd);
    turn();
    close(soft);
    ck_assert_int_eq(shared_buffers_mapped(), 0);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* Reading a missing page raises SIGBUS when memory is short: such files are not mapped. */
START_TEST(shared_buffers_that_may_lack_pages)
{
    int before = open_descriptors(), fd = plain_socket();
    int hindered = lent_file(100000, F_SEAL_SHRINK | F_SEAL_SEAL);
    int displaced = lent_file(200000, F_SEAL_SHRINK);
    int sparse = lent_file(1 << 20, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
    int huge = lent_file(9 << 20, F_SEAL_SHRINK);
    ck_assert_int_eq(fallocate(huge, 0, 0, 9 << 20), 0);
    ck_assert_int_eq(fcntl(huge, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    /* As many pages as its size says, but some of them beyond the end. */
    ck_assert_int_eq(fallocate(displaced, FALLOC_FL_KEEP_SIZE, 200704, 102400), 0);
    greet(fd);
    lend_file(fd, hindered, 0);
    lend_file(fd, displaced, 0);
    lend_file(fd, sparse, 0);
    lend_file(fd, huge, 0);
    ck_assert_int_eq(fallocate(hindered, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536), 0);
    struct head head = in_shared_buffer(100000);
    throw_packet(fd, &head, sizeof head, &hindered, 1);
    expect_disconnect(fd);
    close(hindered);
    close(displaced);
    close(sparse);
    close(huge);
    ck_assert_int_eq(open_descriptors(), before);
    expect_service();
}
END_TEST

/* A client that sends a buffer again and again, without reading that it was read. */
START_TEST(a_client_that_ignores_that_a_file_was_read)
{
    int before = open_descriptors(), fd = plain_socket(), file = lent_file(100000, F_SEAL_SHRINK);
    struct head head = in_shared_buffer(100000);
    int calls_before = calls, sent = 0;
    greet(fd);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int quiet = 0; quiet < 20; quiet++) {
        struct pollfd room = {fd, POLLOUT, 0};
        if (poll(&room, 1, 0) > 0 && room.revents & POLLOUT) {
            throw_packet(fd, &head, sizeof head, &file, 1);
            sent++;
            quiet = 0;
        }
        RLRunLoopRunInMode(MODE, 0.001, false);
        ck_assert_int_lt(sent, 5000);
    }
    expect_service();
    ck_assert_int_lt(calls, calls_before + sent + 1);
    for (int count = 1; count <= sent;) {
        if (recv(fd, &head, sizeof head, 0) == sizeof head) {
            ck_assert(head.kind == READ && head.buffers_read == count);
            count++;
        }
        RLRunLoopRunInMode(MODE, 0.001, false);
    }
    close(fd);
    close(file);
    turn();
    ck_assert_int_eq(shared_buffers_mapped(), 0);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-hostile-files");
    TCase *tcase = add_case(suite, "files", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_test(tcase, invalid_shared_buffers_disconnect);
    tcase_add_test(tcase, shared_buffers_are_sealed);
    tcase_add_test(tcase, shared_buffers_that_may_lack_pages);
    tcase_add_test(tcase, a_client_that_ignores_that_a_file_was_read);
    return suite;
}
