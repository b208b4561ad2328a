/* Checks message ports at the limits of their process: no descriptors left, no large files allowed, or data that is too large. A
 * request reports it, and the connection stays usable. */
#include "message-port-child.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { LARGE = 300000, ASK_FOR_MUCH = 1, ASK_FOR_TOO_MUCH, TAKE_DESCRIPTORS, LIMIT_FILES, TOO_LARGE = 0x60000001 };

/* Memory that is never touched, so it costs nothing. */
static RLDataRef too_large_data(void)
{
    void *bytes = mmap(NULL, TOO_LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(bytes != MAP_FAILED);
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, TOO_LARGE, kRLAllocatorNull);
    require(data != NULL);
    return data;
}

static RLDataRef data_of(RLIndex size)
{
    static uint8_t bytes[LARGE];
    RLDataRef data = RLDataCreate(NULL, bytes, size);
    require(data != NULL);
    return data;
}

/* Limits this process to `spare` more descriptors. */
static void take_descriptors(int spare)
{
    int next = dup(0);
    require(next >= 0);
    struct rlimit limit = {(rlim_t)(next + spare), (rlim_t)(next + spare)};
    require(close(next) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Limits the size of this process's files, memory files included; writing more would raise SIGXFSZ and end the process. */
static void limit_files(void)
{
    struct rlimit limit = {LARGE / 3, LARGE / 3};
    require(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static atomic_int calls;

static RLDataRef answer(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&calls, 1);
    switch (id) {
    case ASK_FOR_MUCH:
        return data_of(LARGE);
    case ASK_FOR_TOO_MUCH:
        return too_large_data();
    case TAKE_DESCRIPTORS:
        take_descriptors(0);
        return NULL;
    case LIMIT_FILES:
        limit_files();
        return NULL;
    default:
        return RLRetain(data);
    }
}

static void begin(void) { begin_child(answer); }

static void finish(void)
{
    ck_assert(RLMessagePortIsValid(remote));
    end_process(child, SIGKILL);
    child = 0;
    end_child();
    ck_assert_int_eq(take_diagnostics(), 0);
}

static int32_t ask_with(int32_t id, RLIndex size, RLRunLoopMode mode)
{
    RLDataRef data = data_of(size), reply = NULL;
    errno = 0;
    int32_t result = RLMessagePortSendRequest(remote, id, data, 20, 20, mode, &reply);
    int error = errno;
    if (reply) {
        ck_assert_int_eq(RLDataGetLength(reply), id == ASK_FOR_MUCH ? LARGE : size);
        RLRelease(reply);
    }
    RLRelease(data);
    errno = error;
    return result;
}

static void expect(int32_t result, int32_t id, RLIndex size)
{
    for (int round = 0; round < 3; round++)
        ck_assert_int_eq(ask_with(id, size, MODE), result);
    ck_assert_int_eq(ask_with(0, 64, MODE), kRLMessagePortSuccess);
}

/* Large data needs neither files nor descriptors, at either end. The shared memory for many small requests does, and the ports do
 * without it. */
START_TEST(ports_work_when_large_files_are_forbidden)
{
    begin();
    if (_i)
        limit_files();
    else
        ck_assert_int_eq(ask_with(LIMIT_FILES, 0, MODE), kRLMessagePortSuccess);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(ask_with(0, 64, NULL), kRLMessagePortSuccess);
    expect(kRLMessagePortSuccess, 0, LARGE);
    expect(kRLMessagePortSuccess, ASK_FOR_MUCH, 64);
    finish();
}
END_TEST

START_TEST(ports_work_without_free_descriptors)
{
    begin();
    expect(kRLMessagePortSuccess, 0, 64);
    if (_i)
        take_descriptors(0);
    else
        ck_assert_int_eq(ask_with(TAKE_DESCRIPTORS, 0, MODE), kRLMessagePortSuccess);
    expect(kRLMessagePortSuccess, 0, LARGE);
    expect(kRLMessagePortSuccess, ASK_FOR_MUCH, 64);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(ask_with(0, i % 10 ? 64 : LARGE, NULL), kRLMessagePortSuccess);
    finish();
}
END_TEST

static void expect_too_large(void)
{
    RLDataRef data = too_large_data(), reply = (RLDataRef)&calls;
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 0, data, 20, 20, MODE, &reply), kRLMessagePortTransportError);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 0, data, 20, 20, NULL, &reply), kRLMessagePortTransportError);
    ck_assert_ptr_eq(reply, &calls);
    RLRelease(data);
    ck_assert_int_eq(ask_with(ASK_FOR_TOO_MUCH, 0, MODE), kRLMessagePortTransportError);
    ck_assert_int_eq(ask_with(0, 64, MODE), kRLMessagePortSuccess);
}

START_TEST(data_that_is_too_large_is_refused)
{
    begin();
    expect_too_large();
    finish();
}
END_TEST

START_TEST(data_that_is_too_large_is_refused_within_the_process)
{
    struct server server;
    use_own_directory();
    serve(&server, NAME, answer, NULL);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    expect_too_large();
    RLRelease(remote);
    end_server(&server);
    remove_own_directory();
}
END_TEST

START_TEST(a_directory_in_place_of_a_port_file_is_an_error)
{
    char path[512];
    use_own_directory();
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL);
    DIR *directory = opendir(name_directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strstr(entry->d_name, ".port"))
            snprintf(path, sizeof path, "%s/%s", name_directory, entry->d_name);
    closedir(directory);
    RLRelease(port);
    strcpy(strstr(path, ".port"), ".new");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    /* The name is still free. */
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
    ck_assert_int_eq(errno, EACCES);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(name_files(), 0);
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-limits");
    TCase *tcase = add_case(suite, "limits", 20);
    tcase_add_loop_test(tcase, ports_work_when_large_files_are_forbidden, 0, 2);
    tcase_add_loop_test(tcase, ports_work_without_free_descriptors, 0, 2);
    tcase_add_test(tcase, data_that_is_too_large_is_refused);
    tcase_add_test(tcase, data_that_is_too_large_is_refused_within_the_process);
    tcase_add_test(tcase, a_directory_in_place_of_a_port_file_is_an_error);
    return suite;
}
